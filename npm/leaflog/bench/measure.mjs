// One measurement, in a process of its own: node measure.mjs NAME leaflog|baseline FILES
import * as fs from "node:fs";
import * as path from "node:path";
import { getRecentSessions, SessionManager } from "leaflog";
import * as baseline from "./baseline.mjs";
import { messages } from "./data.mjs";

const [name, which, given] = process.argv.slice(2);
const files = JSON.parse(given);
const native = which === "leaflog";
/** What was made is not thrown away while the clock runs. */
let kept;
const now = () => performance.now();
const scratch = () => fs.mkdtempSync(path.join(path.dirname(files.many), "scratch-"));

/** A session that has started. */
function started(dir) {
	const session = SessionManager.create(dir, dir);
	session.appendMessage({ role: "assistant", content: [] });
	return session;
}

/** Milliseconds on the clock, or with CPU=1 of all threads' work: on a busy machine that says more. */
async function timed(run) {
	const [start, before] = [now(), process.cpuUsage()];
	await run();
	const { user, system } = process.cpuUsage(before);
	return process.env.CPU ? (user + system) / 1000 : now() - start;
}

const measurements = {
	async "open and context, 20 MB compacted"() {
		if (!native) return timed(() => baseline.context(baseline.load(files.compacted)));
		return timed(async () => (await SessionManager.open(files.compacted)).buildSessionContext());
	},

	async "buildSessionContext, 12,000 messages"() {
		const session = await SessionManager.open(files.plain);
		if (native)
			return timed(() => {
				kept = session.buildSessionContext();
			});
		const texts = baseline.load(files.plain).flatMap((entry) => (entry.message ? JSON.stringify(entry.message) : []));
		return timed(() => {
			kept = texts.map((text) => JSON.parse(text));
		});
	},

	async "getEntries, 12,000 entries"() {
		const session = await SessionManager.open(files.plain);
		if (native)
			return timed(() => {
				kept = session.getEntries();
			});
		const lines = fs.readFileSync(files.plain, "utf8").split("\n").filter(Boolean);
		return timed(() => {
			kept = lines.map((line) => JSON.parse(line));
		});
	},

	async "5,000 appends to a session that has started"() {
		const dir = scratch();
		const given = messages(5000, 1250);
		const session = started(dir);
		try {
			if (!native) return await timed(() => baseline.append(path.join(dir, "baseline.jsonl"), given));
			return await timed(() => {
				for (const message of given) session.appendMessage(message);
			});
		} finally {
			fs.rmSync(dir, { recursive: true });
		}
	},

	async "list, 1,000 files"() {
		if (!native) return timed(() => baseline.list(files.many));
		return timed(() => SessionManager.list("/home/ada", files.many));
	},

	async "recents of 1,000 files"() {
		if (!native) return timed(() => baseline.recents(files.many));
		return timed(() => getRecentSessions(files.many));
	},

	async "memory to open 200 MB, MiB"() {
		globalThis.gc?.();
		const before = process.memoryUsage().rss;
		const kept = native ? await SessionManager.open(files.large) : baseline.load(files.large);
		const after = process.memoryUsage().rss;
		if (kept === undefined) throw new Error("not kept");
		return (after - before) / 2 ** 20;
	},

	async "before the first write: 20,000 appends for 5,000 (4 is linear)"() {
		const dir = scratch();
		const given = messages(20_000, 100);
		const burst = async (count) => {
			const session = SessionManager.create(dir, dir);
			return timed(() => {
				for (let at = 0; at < count; at++) session.appendCustomEntry("x", given[at]);
			});
		};
		await burst(5000);
		const ratio = (await burst(20_000)) / (await burst(5000));
		fs.rmSync(dir, { recursive: true });
		return ratio;
	},
};

if (name === undefined) console.log(JSON.stringify(Object.keys(measurements)));
else console.log(await measurements[name]());
if (kept === null) throw new Error("nothing was made");
