"""Figures as Apache ECharts option objects: data in, one dictionary out, no other text.

Colours are those of Okabe and Ito (Color Universal Design, 2008), which colour-blind people can
distinguish; lines differ in their dashes as well.
"""
