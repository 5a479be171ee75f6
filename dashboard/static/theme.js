// SPDX-License-Identifier: MIT
// Classic and blocking on purpose: the chosen theme must be set before the first paint.
{
  let theme = null;
  try {
    theme = localStorage.getItem("locklab.theme");
  } catch {
    // Storage may be forbidden; the page then follows the system.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
