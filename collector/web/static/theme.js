// Before anything is painted: the theme that was chosen here, if any; else the system's holds.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // A browser that keeps nothing shows the system's theme.
}
