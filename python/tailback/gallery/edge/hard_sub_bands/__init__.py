"""What hard sub-bands waste."""
