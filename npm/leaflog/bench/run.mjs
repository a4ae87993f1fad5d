// node bench/run.mjs [WORD]: every measurement in a process of its own, beside plain JavaScript, in
// Node and in Bun; the fastest of several runs counts.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { fileURLToPath } from "node:url";
import { prepare } from "./data.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const bun = path.join(path.dirname(here), "node_modules", "bun", "bin", "bun.exe");
const engines = { node: [process.execPath, ["--expose-gc"]], bun: [bun, ["--expose-gc"]] };
const RUNS = Number(process.env.RUNS ?? 7);

const dir = process.env.BENCH_DIR ?? path.join(os.tmpdir(), "leaflog-bench");
fs.mkdirSync(dir, { recursive: true });
const files = JSON.stringify(prepare(dir));
process.env.PI_CODING_AGENT_DIR = path.join(dir, "agent");

const run = ([command, args], ...rest) =>
	JSON.parse(execFileSync(command, [...args, path.join(here, "measure.mjs"), ...rest], { encoding: "utf8" }));

/** At most this much of the baseline, or in all. */
const LIMITS = {
	"open and context, 20 MB compacted": 0.15,
	"buildSessionContext, 12,000 messages": 1.5,
	"getEntries, 12,000 entries": 0.25,
	"5,000 appends to a session that has started": 1.0,
	"list, 1,000 files": 0.15,
	"recents of 1,000 files": 0.1,
};
const names = Object.keys(LIMITS);
const alone = ["memory to open 200 MB, MiB", "before the first write: 20,000 appends for 5,000 (4 is linear)"];

console.log("| | engine | leaflog | JavaScript | ratio | at most |\n|---|---|--:|--:|--:|--:|");
for (const name of [...names, ...alone].filter((name) => name.includes(process.argv[2] ?? ""))) {
	for (const [engine, command] of Object.entries(engines)) {
		const [ours, theirs] = [[], []];
		// In turns, so that what else the machine does falls on both.
		for (let at = 0; at < RUNS; at++) {
			ours.push(run(command, name, "leaflog", files));
			if (names.includes(name)) theirs.push(run(command, name, "baseline", files));
		}
		const best = Math.min(...ours);
		const base = Math.min(...theirs);
		const cells = names.includes(name)
			? [`${best.toFixed(1)} ms`, `${base.toFixed(1)} ms`, (best / base).toFixed(2), LIMITS[name].toFixed(2)]
			: [best.toFixed(1), "", "", ""];
		console.log(`| ${name} | ${engine} | ${cells.join(" | ")} |`);
	}
}
