"""Where two traces part, and where runs that fail do otherwise than runs that pass."""
