"""High and low threshold of watermark detection."""
