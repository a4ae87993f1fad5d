// node --expose-gc bench/long.mjs [COUNT]: one session, COUNT appends in one process. Times are printed; that memory and
// descriptors stay what they are is asserted. Bun runs it too.
//
// The package keeps the message objects it was given: they are the entries' messages (`getEntries()[3].message` is the very
// object). So the same few are given here, and what grows is what the package adds to them.
import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { SessionManager } from "leaflog";
import { messages } from "./data.mjs";

const COUNT = Number(process.argv[2] ?? 200_000);
const SLICE = COUNT / 10;
/** Bytes an entry: of the heap, an id and its place in a map; in all, that, the index, and what such tables leave free. */
const HEAP = 160;
const RESIDENT = 320;
/** Bytes that engines need for themselves. */
const BESIDE = 32 << 20;

const dir = fs.mkdtempSync(path.join(process.env.BENCH_DIR ?? os.tmpdir(), "leaflog-long-"));
process.env.PI_CODING_AGENT_DIR = path.join(dir, "agent");
const memory = () => {
	globalThis.gc?.();
	return process.memoryUsage();
};
const descriptors = () => (fs.existsSync("/proc/self/fd") ? fs.readdirSync("/proc/self/fd").length : 0);
const lines = (file) => {
	const [fd, buf] = [fs.openSync(file, "r"), Buffer.alloc(1 << 18)];
	let count = 0;
	for (let read = fs.readSync(fd, buf); read > 0; read = fs.readSync(fd, buf))
		for (let at = buf.indexOf(10); at >= 0 && at < read; at = buf.indexOf(10, at + 1)) count++;
	fs.closeSync(fd);
	return count;
};

const given = messages(30, 1000);
const session = SessionManager.create(dir, dir);
session.appendMessage(given[1]);
for (let at = 1; at < 1000; at++) session.appendMessage(given[at % 30]);
const [before, open] = [memory(), descriptors()];
console.log("| appends | us each | slowest, ms | heap, MB | resident, MB |\n|--:|--:|--:|--:|--:|");
for (let at = 1000, end = SLICE; end <= COUNT; end += SLICE) {
	const start = performance.now();
	const count = end - at;
	let slowest = 0;
	for (let last = start; at < end; at++) {
		session.appendMessage(given[at % 30]);
		const now = performance.now();
		slowest = Math.max(slowest, now - last);
		last = now;
	}
	const each = ((performance.now() - start) * 1000) / count;
	const { heapUsed, rss } = memory();
	const mb = (bytes) => (bytes / 2 ** 20).toFixed(1);
	console.log(`| ${end} | ${each.toFixed(2)} | ${slowest.toFixed(1)} | ${mb(heapUsed)} | ${mb(rss)} |`);
	assert.equal(descriptors(), open, "descriptors");
}
const after = memory();
assert.ok(after.heapUsed - before.heapUsed <= BESIDE / 4 + COUNT * HEAP, "the heap is what the appends need");
assert.ok(after.rss - before.rss <= BESIDE + COUNT * RESIDENT, "so is resident memory");
await session.flush();
assert.equal(lines(session.getSessionFile()), COUNT + 1, "a line for the header and each entry");
const again = await SessionManager.open(session.getSessionFile(), dir);
assert.equal(again.getLeafId(), session.getLeafId(), "the leaf");
assert.equal(again.getEntries().length, COUNT, "entries");
assert.deepEqual(again.getUsageStatistics(), session.getUsageStatistics(), "the usage");
await again.close();
await session.close();
fs.rmSync(dir, { recursive: true });
