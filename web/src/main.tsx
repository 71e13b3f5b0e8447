// The entry of the page. The general styles come first, so that views can be more exact.
import "./style/tokens.css";
import "./style/base.css";
import "./style/shell.css";
import "./style/parts.css";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Boundary } from "./parts/Boundary";
import { applyTheme } from "./parts/theme";

applyTheme();
const place = document.getElementById("page");
if (place) {
  createRoot(place).render(
    <Boundary name="The page">
      <App />
    </Boundary>,
  );
}
