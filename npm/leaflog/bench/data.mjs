// The files that are measured: made alike on every run.
import * as fs from "node:fs";
import * as path from "node:path";

const START = Date.parse("2026-02-16T10:20:30.000Z");
const PROSE =
	"The tide gauge at the old pier reports every six minutes. Readings that jump by more than a metre are dropped, " +
	"and the gap is filled from the neighbouring station — which is why the café's clock drifts.\n";
const TEXT = PROSE.repeat(60);

const id = (at) => (Math.imul(at + 1, 0x9e3779b1) >>> 0).toString(16).padStart(8, "0");

function message(at, size) {
	const from = (at * 37) % PROSE.length;
	const text = TEXT.slice(from, from + Math.floor(size * (0.5 + ((at * 7919) % 100) / 100)));
	const timestamp = START + at * 1000;
	switch (at % 3) {
		case 0:
			return { role: "user", content: [{ type: "text", text }], timestamp };
		case 1:
			return {
				role: "assistant",
				content: [
					{ type: "text", text },
					{ type: "toolCall", id: `call_${at}`, name: "read", arguments: { path: "src/gauge.ts", offset: at } },
				],
				provider: "acme",
				model: "large",
				usage: { input: at, output: 20, cacheRead: 3000, cacheWrite: 40, cost: { total: 0.01 } },
				stopReason: "toolUse",
				timestamp,
			};
		default:
			return {
				role: "toolResult",
				toolCallId: `call_${at - 1}`,
				toolName: "read",
				content: [{ type: "text", text }],
				isError: false,
				timestamp,
			};
	}
}

export function messages(count, size) {
	return Array.from({ length: count }, (_, at) => message(at, size));
}

/** A session of `count` entries; with `compacted`, a compaction keeps the last part of it. */
export function write(file, count, size, compacted, header = {}) {
	const fd = fs.openSync(file, "w");
	const lines = [
		JSON.stringify({
			type: "session",
			version: 3,
			id: id(-7) + id(-8),
			timestamp: "2026-02-16T10:20:30.000Z",
			cwd: "/home/ada",
			...header,
		}),
	];
	for (let at = 0; at < count; at++) {
		const base = {
			id: id(at),
			parentId: at === 0 ? null : id(at - 1),
			timestamp: new Date(START + at * 1000).toISOString(),
		};
		lines.push(
			compacted && at === Math.floor(count * 0.95)
				? JSON.stringify({
						type: "compaction",
						...base,
						summary: "What went before.",
						firstKeptEntryId: id(Math.floor(count * 0.93)),
						tokensBefore: 100_000,
					})
				: JSON.stringify({ type: "message", ...base, message: message(at, size) }),
		);
		if (lines.length > 1000) fs.writeSync(fd, `${lines.splice(0).join("\n")}\n`);
	}
	fs.writeSync(fd, `${lines.join("\n")}\n`);
	fs.closeSync(fd);
}

/** All files below `dir`, which is made once. */
export function prepare(dir) {
	const files = {
		compacted: path.join(dir, "compacted-20mb.jsonl"),
		plain: path.join(dir, "plain-12000.jsonl"),
		large: path.join(dir, "large-200mb.jsonl"),
		many: path.join(dir, "many"),
	};
	if (fs.existsSync(path.join(dir, "complete"))) return files;
	fs.mkdirSync(files.many, { recursive: true });
	write(files.compacted, 12_000, 1250, true);
	write(files.plain, 12_000, 1250, false);
	write(files.large, 123_000, 1250, true);
	for (let at = 0; at < 1000; at++) {
		write(path.join(files.many, `${at}_${id(at)}.jsonl`), 40, 1250, false, { id: `${id(at)}${id(at)}` });
	}
	fs.writeFileSync(path.join(dir, "complete"), "");
	return files;
}
