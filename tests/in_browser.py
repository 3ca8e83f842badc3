"""What the tests of the report and of the live page ask a browser."""

from __future__ import annotations

FAINT = """() => {
  const channels = (colour) => {
    const found = colour.match(/[\\d.]+/g).map(Number);
    return found.length < 4 ? [...found, 1] : found;
  };
  const light = ([r, g, b]) => [r, g, b].map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
  const ground = (place) => {
    for (let one = place; one; one = one.parentElement) {
      const colour = channels(getComputedStyle(one).backgroundColor);
      if (colour[3] === 1) { return colour; }
    }
    return [255, 255, 255, 1];
  };
  const own = (one) => Array.from(one.childNodes)
    .some((node) => node.nodeType === 3 && node.textContent.trim());
  return Array.from(document.querySelectorAll("body *"))
    .filter((one) => own(one) && one.checkVisibility() && one.closest("script, style") === null)
    .flatMap((one) => {
      const style = getComputedStyle(one);
      const ink = channels(one.closest("svg") ? style.fill : style.color);
      const [low, high] = [light(ink), light(ground(one))].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      return ratio < 4.5 ? [`${ratio.toFixed(1)}: ${one.textContent.slice(0, 40)}`] : [];
    });
}"""
"""Texts with less contrast than level AA of the "Web Content Accessibility Guidelines" 2.2 asks
(success criterion 1.4.3)."""
