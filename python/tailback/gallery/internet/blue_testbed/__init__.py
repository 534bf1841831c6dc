"""Blue and RED on a LAN of hosts with FreeBSD, after the testbed of Feng and others, 1999."""
