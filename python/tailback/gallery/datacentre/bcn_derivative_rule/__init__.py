"""BCN messages with and without the derivative rule."""
