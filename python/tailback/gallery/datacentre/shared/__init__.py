"""Network and observables that the data-centre experiments share."""
