"""The control loop, measured and made longer."""
