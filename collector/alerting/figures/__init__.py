"""What rules look at, each as the pages show it, in words."""
