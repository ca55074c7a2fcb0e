"""Several hosts on one machine: network namespaces, and a switch between them."""
