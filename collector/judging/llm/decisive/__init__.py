"""The decisive error of a trace whose outcome is wrong: when it is asked for, and how."""
