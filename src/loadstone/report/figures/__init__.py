"""Figures as Apache ECharts option objects: data in, one dictionary out, no other text.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which the colour-blind tell
apart; lines differ in their dashes as well.
"""
