"""Tables that can be released: privacy models and their verifiers, methods that enforce them, utility and risk."""
