"""Network and observables of the data-centre experiments."""
