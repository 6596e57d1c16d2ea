"""How fast the engines are, and how much memory they take: cases, measuring, ratios, history."""
