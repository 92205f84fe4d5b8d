"""The flow from random initial weights: when it escapes, and in which minimum it ends."""
