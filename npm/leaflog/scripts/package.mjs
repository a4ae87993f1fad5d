// Packs what is published: this package, and the package of each platform whose addon is there.
// node scripts/package.mjs OUT [--here]: tarballs in OUT; with --here for this machine only.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const platforms = path.join(path.dirname(root), "platforms");
const license = path.join(path.dirname(path.dirname(root)), "LICENSE");
const out = path.resolve(process.argv[2] ?? "packages");
const onlyHere = process.argv.includes("--here");
fs.mkdirSync(out, { recursive: true });
const staging = fs.mkdtempSync(path.join(out, "staging-"));

const here = `${process.platform}-${process.arch}${{ linux: libc(), win32: "-msvc" }[process.platform] ?? ""}`;
const names = fs
	.readdirSync(platforms, { withFileTypes: true })
	.filter((entry) => entry.isDirectory() && (!onlyHere || entry.name === here))
	.map((entry) => entry.name);
const optionalDependencies = {};
for (const name of names) {
	const dir = path.join(platforms, name);
	const manifest = read(path.join(dir, "package.json"));
	optionalDependencies[manifest.name] = manifest.version;
	const addon = [
		path.join(dir, "leaflog.node"),
		...(name === here ? [path.join(root, "native", "leaflog.node")] : []),
	].find((file) => fs.existsSync(file));
	if (addon === undefined) console.log(`skipped: ${manifest.name} (no ${path.join(dir, "leaflog.node")})`);
	else pack(name, manifest, { "leaflog.node": addon, LICENSE: license });
}

const { devDependencies, scripts, ...manifest } = read(path.join(root, "package.json"));
pack(
	"leaflog",
	{ ...manifest, optionalDependencies },
	{
		dist: path.join(root, "dist"),
		"README.md": path.join(root, "README.md"),
		LICENSE: license,
	},
);
fs.rmSync(staging, { recursive: true });

// In the repository the packages are private: published from there, they would lack what is put together here.
function pack(name, { private: _, ...manifest }, files) {
	const dir = path.join(staging, name);
	fs.mkdirSync(dir);
	fs.writeFileSync(path.join(dir, "package.json"), `${JSON.stringify(manifest, null, "\t")}\n`);
	fs.writeFileSync(path.join(dir, "README.md"), `# ${manifest.name}\n\n${manifest.description}.\n`);
	for (const [file, from] of Object.entries(files)) fs.cpSync(from, path.join(dir, file), { recursive: true });
	execFileSync("npm", ["pack", "--silent", "--pack-destination", out], {
		cwd: dir,
		shell: process.platform === "win32",
	});
}

function read(file) {
	return JSON.parse(fs.readFileSync(file, "utf8"));
}

function libc() {
	return process.report.getReport().header.glibcVersionRuntime === undefined ? "-musl" : "-gnu";
}
