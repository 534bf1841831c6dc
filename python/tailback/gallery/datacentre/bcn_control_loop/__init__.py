"""BCN's control loop, measured and lengthened."""
