"""Drop-tail and global synchronisation."""
