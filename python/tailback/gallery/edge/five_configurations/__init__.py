"""The five configurations and their VPN variants."""
