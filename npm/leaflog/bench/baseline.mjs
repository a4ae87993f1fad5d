// The same in plain JavaScript: read, split, parse, walk; stringify and write.
import * as fs from "node:fs";
import * as path from "node:path";

export function load(file) {
	const entries = [];
	for (const line of fs.readFileSync(file, "utf8").split("\n")) {
		if (line) entries.push(JSON.parse(line));
	}
	return entries;
}

export function context(entries) {
	const byId = new Map();
	for (const entry of entries) if (entry.type !== "session") byId.set(entry.id, entry);
	const branch = [];
	for (let entry = entries.at(-1); entry; entry = byId.get(entry.parentId)) branch.push(entry);
	branch.reverse();
	const models = {};
	let at = -1;
	branch.forEach((entry, index) => {
		if (entry.type === "compaction") at = index;
		else if (entry.message?.role === "assistant") models.default = `${entry.message.provider}/${entry.message.model}`;
	});
	const messages = [];
	let from = 0;
	if (at >= 0) {
		messages.push({ role: "compactionSummary", summary: branch[at].summary });
		from = branch.findIndex((entry) => entry.id === branch[at].firstKeptEntryId);
	}
	for (let index = from; index < branch.length; index++)
		if (branch[index].message) messages.push(branch[index].message);
	return { messages, models };
}

const textOf = (content) =>
	typeof content === "string"
		? content
		: content
				.filter((block) => block.type === "text")
				.map((block) => block.text)
				.join(" ");

export function list(dir) {
	const sessions = fs
		.readdirSync(dir)
		.filter((name) => name.endsWith(".jsonl"))
		.map((name) => {
			const file = path.join(dir, name);
			const [header, ...entries] = load(file);
			const spoken = entries.filter((entry) => entry.type === "message");
			const texts = spoken
				.filter(({ message }) => message.role === "user" || message.role === "assistant")
				.map(({ message }) => textOf(message.content));
			return {
				path: file,
				id: header.id,
				modified: fs.statSync(file).mtime,
				messageCount: spoken.length,
				firstMessage: textOf(spoken.find(({ message }) => message.role === "user").message.content),
				allMessagesText: texts.join(" "),
			};
		});
	return sessions.sort((a, b) => b.modified - a.modified);
}

export function recents(dir) {
	const found = fs
		.readdirSync(dir)
		.filter((name) => name.endsWith(".jsonl"))
		.map((name) => {
			const file = path.join(dir, name);
			const fd = fs.openSync(file, "r");
			const prefix = Buffer.alloc(4096);
			const read = fs.readSync(fd, prefix, 0, 4096, 0);
			fs.closeSync(fd);
			const lines = prefix.toString("utf8", 0, read).split("\n");
			return { path: file, header: JSON.parse(lines[0]), mtime: fs.statSync(file).mtimeMs };
		});
	return found.sort((a, b) => b.mtime - a.mtime).slice(0, 3);
}

export function append(file, messages) {
	const fd = fs.openSync(file, "a");
	let parentId = null;
	for (const message of messages) {
		const id = crypto.randomUUID().slice(-8);
		const entry = { type: "message", id, parentId, timestamp: new Date().toISOString(), message };
		fs.writeSync(fd, `${JSON.stringify(entry)}\n`);
		parentId = id;
	}
	fs.closeSync(fd);
}
