"""Router and services of the customer-edge experiments."""
