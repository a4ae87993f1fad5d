// Builds the addon and the package. With --js only the package, with --native only the addon.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.dirname(path.dirname(root));
const only = process.argv[2];
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: "inherit" });

if (only !== "--js") {
	run(process.env.CARGO ?? "cargo", ["build", "--release", "--locked", "-p", "leaflog-node"], repository);
	const target = process.env.CARGO_TARGET_DIR ?? path.join(repository, "target");
	const name = { darwin: "libleaflog_node.dylib", win32: "leaflog_node.dll" }[process.platform] ?? "libleaflog_node.so";
	fs.mkdirSync(path.join(root, "native"), { recursive: true });
	// A new file: the old one may be loaded, and to write into it would crash who has it.
	const addon = path.join(root, "native", "leaflog.node");
	fs.copyFileSync(path.join(target, "release", name), `${addon}.new`);
	fs.renameSync(`${addon}.new`, addon);
}

if (only !== "--native") {
	const dist = path.join(root, "dist");
	fs.rmSync(dist, { recursive: true, force: true });
	run(process.execPath, [path.join(root, "node_modules", "typescript", "bin", "tsc")], root);
	// The ES module is a thin cover: there is one instance of the package, however it is loaded.
	const names = Object.keys((await import(path.join(dist, "index.js"))).default).filter(
		(name) => name !== "__esModule",
	);
	fs.writeFileSync(
		path.join(dist, "index.mjs"),
		`import leaflog from "./index.js";\n\nexport const {\n${names.map((name) => `\t${name},\n`).join("")}} = leaflog;\n`,
	);
	fs.writeFileSync(path.join(dist, "index.d.mts"), 'export * from "./index.js";\n');
}
