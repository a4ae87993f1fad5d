import type { Entries } from "./entries";
import { type Handle, native } from "./native";
import type { SessionTreeNode } from "./types";

/** The roots of a session, each with what hangs on it. */
export function buildTree(handle: Handle, objects: Entries): SessionTreeNode[] {
	const flat = JSON.parse(native.tree(handle)) as number[];
	const labelled = JSON.parse(native.labels(handle)) as { id: string; label: string }[];
	const labels = new Map(labelled.map(({ id, label }) => [id, label]));
	const entries = objects.many(flat.filter((_, at) => at % 2 === 0));
	const roots: SessionTreeNode[] = [];
	// The nodes on the way down, and how many children each still waits for.
	const open: { children: SessionTreeNode[]; left: number }[] = [];
	entries.forEach((entry, at) => {
		const node: SessionTreeNode = { entry, children: [] };
		const label = labels.get(entry.id);
		if (label !== undefined) node.label = label;
		while (open.at(-1)?.left === 0) open.pop();
		const parent = open.at(-1);
		if (parent === undefined) {
			roots.push(node);
		} else {
			parent.children.push(node);
			parent.left--;
		}
		open.push({ children: node.children, left: flat[at * 2 + 1] as number });
	});
	return roots;
}
