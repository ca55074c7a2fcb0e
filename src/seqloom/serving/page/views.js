// The views of an output, in the order of their tabs. A view is one file: its name, its title, the models that it fits, and
// a function that draws what is shown (`output`, the part of it that is looked at, `whole`, `input`, `model`, `asked`,
// `piece`, `width`, `redraw`, and `force` and `edit`, which write another output) as the promise of an element.

import best from "./best.js";
import heat from "./heat.js";
import { inPictures, inSound } from "./looks.js";
import net from "./nets.js";
import steps from "./steps.js";
import threads from "./threads.js";
import tree from "./tree.js";

export const VIEWS = [inPictures, inSound, threads, heat, best, tree, steps, net];
