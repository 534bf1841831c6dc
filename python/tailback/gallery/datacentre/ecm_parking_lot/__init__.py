"""BCN 2.0 (ECM) in a parking lot: shares are proportional, not max-min."""
