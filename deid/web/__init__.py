"""What listens: one foundation (who may ask, what a browser may do) for the annotation page and the service."""
