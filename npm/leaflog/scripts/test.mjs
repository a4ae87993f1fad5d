// Runs the suite under Node and under Bun: the same files, the same tests.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const tests = fs
	.readdirSync(path.join(root, "test"))
	.filter((name) => name.endsWith(".test.mjs"))
	.map((name) => `./test/${name}`);

// The package calls it so on every system.
const bun = path.join(root, "node_modules", "bun", "bin", "bun.exe");
const engines = [["node", process.execPath, ["--test", "--test-reporter=dot", "--expose-gc", ...tests]]];
if (isRunnable(bun)) engines.push(["bun", bun, ["test", "--dots", "--timeout", "120000", ...tests]]);
else if (process.env.LEAFLOG_REQUIRE) throw new Error("LEAFLOG_REQUIRE is set, and there is no Bun for this machine");
else console.log("skipped: the suite under Bun (no Bun for this machine)");

engines.push([
	"node, the package",
	process.execPath,
	["--test", "--test-reporter=dot", "test/package/package.test.mjs"],
]);
// Whatever a suite leaves goes with this, also when it fails.
const temp = fs.mkdtempSync(path.join(os.tmpdir(), "leaflog-suites-"));
const env = { ...process.env, TMPDIR: temp, TEMP: temp, TMP: temp };
let failed = false;
try {
	for (const [name, command, args] of engines) {
		console.log(`suite: ${name}`);
		const { status } = spawnSync(command, args, { cwd: root, stdio: "inherit", env });
		failed ||= status !== 0;
	}
} finally {
	fs.rmSync(temp, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);

function isRunnable(command) {
	return spawnSync(command, ["--version"]).status === 0;
}
