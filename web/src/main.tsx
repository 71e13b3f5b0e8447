// Where the page begins.
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { applyTheme } from "./parts/theme";
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";

applyTheme();
const place = document.getElementById("page");
if (place) createRoot(place).render(<App />);
