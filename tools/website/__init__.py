"""The site of the documentation: its pages, the check of its links, and the build."""
