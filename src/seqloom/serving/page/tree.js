// What a beam kept and dropped for the input on the screen.

import { predict } from "./api.js";
import { beam } from "./beam.js";
import { facts } from "./elements.js";
import { pieceOf } from "./written.js";

const [WIDTH, WIDEST] = [5, 8]; // of the beam that is shown

async function draw({ asked, whole, piece, width }) {
  const paths = Math.min(WIDEST, asked.search?.width ?? WIDTH);
  const body = { ...asked, search: { kind: "beam", width: paths }, n_best: 1, tree: true, alternatives: 0, attention: false };
  const [output] = (await predict(body)).outputs;
  const { tree } = pieceOf(output, whole.piece_ends ? piece : 0);
  return tree?.length ? beam(tree, () => width) : facts("Only a beam leaves a tree.");
}

export default { name: "tree", title: "Beam tree", fits: ({ search }) => Boolean(search), draw };
