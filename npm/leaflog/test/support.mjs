import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { after } from "node:test";
import { SessionManager } from "leaflog";

const made = [];
after(() => {
	for (const dir of made) fs.rmSync(dir, { recursive: true, force: true });
});

/** A folder that goes when the file's tests are done. */
export function tempDir() {
	const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "leaflog-")));
	made.push(dir);
	return dir;
}

// No test touches the agent of who runs it.
process.env.PI_CODING_AGENT_DIR = tempDir();

/** Says that something cannot be tested on this machine. With `LEAFLOG_REQUIRE=1` that is a failure. */
export function skip(what) {
	if (process.env.LEAFLOG_REQUIRE) throw new Error(`skipped, and LEAFLOG_REQUIRE is set: ${what}`);
	console.log(`skipped: ${what}`);
}

/** The values of a file's lines. */
export function lines(file) {
	const text = fs.readFileSync(file, "utf8");
	if (!text.endsWith("\n")) throw new Error(`no newline at the end of ${file}`);
	return text
		.slice(0, -1)
		.split("\n")
		.map((line) => JSON.parse(line));
}

/** Writes a file of lines. */
export function write(file, values) {
	const line = (value) => (typeof value === "string" ? value : JSON.stringify(value));
	fs.mkdirSync(path.dirname(file), { recursive: true });
	fs.writeFileSync(file, values.map((value) => `${line(value)}\n`).join(""));
	return file;
}

export function user(text) {
	return { role: "user", content: text, timestamp: 1 };
}

export function assistant(text, usage) {
	return {
		role: "assistant",
		content: [{ type: "text", text }],
		provider: "acme",
		model: "large",
		usage: usage ?? { input: 1, output: 2, cacheRead: 3, cacheWrite: 4, cost: { total: 0.25 } },
		stopReason: "stop",
		timestamp: 1,
	};
}

/** A session of a project and a folder of its own that has started: two messages are in its file. */
export function started(options) {
	const dir = tempDir();
	const session = SessionManager.create(dir, dir, undefined, options);
	session.appendMessage(user("1"));
	session.appendMessage(assistant("2"));
	return session;
}

/** Lets another process hold a session's lock; the function that is given back lets go of it. */
export async function holdLock(session) {
	const file = session.getSessionFile();
	const lock = path.join(path.dirname(file), `.${path.basename(file)}.lock`);
	const holder = spawn("flock", ["-x", lock, "sh", "-c", "echo held; read line"], {
		stdio: ["pipe", "pipe", "inherit"],
	});
	const failed = await Promise.race([once(holder, "error"), once(holder.stdout, "data").then(() => undefined)]);
	if (failed !== undefined) {
		skip("another's lock (no flock)");
		return undefined;
	}
	return async () => {
		holder.stdin.end("\n");
		await once(holder, "close");
	};
}

export const ID = /^[0-9a-f]{8}$/;
export const SESSION_ID = /^[0-9a-f]{16}$/;
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A header and entries of a chain: `[type, fields]` each, with ids e1, e2, … */
export function session(entries, header = {}) {
	const time = (second) => `2026-02-16T10:20:${String(second).padStart(2, "0")}.000Z`;
	return [
		{ type: "session", version: 3, id: "1f9d2a6b9c0d1234", timestamp: time(0), cwd: "/home/ada", ...header },
		...entries.map(([type, fields], at) => ({
			type,
			id: `e${at + 1}`,
			parentId: at === 0 ? null : `e${at}`,
			timestamp: time(at + 1),
			...fields,
		})),
	];
}
