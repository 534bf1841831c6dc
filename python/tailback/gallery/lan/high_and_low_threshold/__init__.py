"""Both thresholds of watermark detection."""
