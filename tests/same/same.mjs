// Does what a script says through the JavaScript interface; same.rs says what a script is.
//
// node same.mjs PACKAGE SCRIPT LOG works in the current folder. PACKAGE is the folder of the built npm package.
import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as path from "node:path";

const [folder, script, logFile] = process.argv.slice(2);
const { SequenceGenerator, SessionManager } = createRequire(import.meta.url)(path.resolve(folder));

// 2026-02-16T10:00:00.000Z, a second for each id.
const generator = new SequenceGenerator(new Date("2026-02-16T10:00:00.000Z"), 1000);
let options = { agentDir: path.join(process.cwd(), "agent"), generator };
const managers = [undefined, undefined, undefined];
const states = [undefined, undefined, undefined];
let used = 0;
const files = [];
/** The ids of entries that `message` made. */
const messages = new Set();

const expand = (line) => line.replaceAll(/\{\{(\d+):(.*?)\}\}/g, (_, count, text) => text.repeat(Number(count)));
const text = decodeURIComponent;
const optional = (field) => (field === "~" ? undefined : text(field));
const list = (field) => (field === "" ? [] : field.split(",").map(text));
const choice = (field) => (field === "~" ? undefined : field === "yes");

/** The value of a field of JSON, which has to come out of it as it went in. */
function json(field) {
	if (field === "~") return undefined;
	const value = JSON.parse(field);
	if (JSON.stringify(value) !== field) throw new Error(`not as JavaScript writes it: ${field}`);
	return value;
}

function pathOf(field) {
	if (!field.startsWith("=")) return text(field);
	return files.length === 0 ? "in/none.jsonl" : files[Number(field.slice(1)) % files.length];
}

function idAt(field) {
	const entries = managers[used].getEntries();
	const id = entries[Number(field.slice(1)) % entries.length]?.id;
	return typeof id === "string" ? id : "";
}

/** Puts a manager where one was, which is closed. */
async function put(make) {
	const before = managers[used];
	managers[used] = undefined;
	if (before !== undefined) await before.close();
	states[used] = undefined;
	managers[used] = await make();
}

/** Changes an object in place. */
function become(object, fields) {
	for (const key of Object.keys(object)) delete object[key];
	for (const [key, value] of Object.entries(fields)) {
		Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
	}
}

async function step([name, a, b, c, d, e, f, g]) {
	switch (name) {
		case "use":
			used = Number(a);
			return;
		case "options":
			options = { ...options, migrationRewrite: a, dirNaming: b, durability: c };
			return;
		case "create":
			return put(() => SessionManager.create(text(a), undefined, undefined, options));
		case "memory":
			return put(() => SessionManager.inMemory(text(a), undefined, options));
		case "continue":
			return put(() => SessionManager.continueRecent(text(a), undefined, undefined, options));
		case "open":
			return put(() => SessionManager.open(pathOf(a), undefined, undefined, options));
		case "fork-from":
			return put(() => SessionManager.forkFrom(pathOf(a), text(b), undefined, undefined, options));
		// What another program does to a file.
		case "tail":
			if (!fs.existsSync(pathOf(a))) return "no file";
			fs.appendFileSync(pathOf(a), text(b));
			return;
		case "remove":
			if (!fs.existsSync(pathOf(a))) return "no file";
			fs.unlinkSync(pathOf(a));
			return;
	}
	const manager = managers[used];
	if (manager === undefined) return "no session";
	switch (name) {
		case "set-file":
			return manager.setSessionFile(pathOf(a));
		case "new":
			await manager.newSession({ parentSession: optional(a) });
			return;
		case "fork":
			await manager.fork();
			return;
		case "branched":
			manager.createBranchedSession(idAt(a));
			return;
		case "move":
			return manager.moveTo(text(a));
		case "flush":
			return manager.flush();
		case "close":
			return manager.close();
		case "ensure":
			return manager.ensureOnDisk();
		case "rewrite":
			return manager.rewriteEntries();
		case "sanitize":
			manager.sanitizeLoadedOpenAIResponsesReplayMetadata();
			return;
		case "capture":
			states[used] = manager.captureState();
			return;
		case "restore":
			if (states[used] !== undefined) manager.restoreState(states[used]);
			return;
		case "name":
			return manager.setSessionName(text(b), a);
		case "message": {
			const id = manager.appendMessage(json(a));
			messages.add(id);
			return id;
		}
		case "change": {
			const id = idAt(a);
			if (!messages.has(id)) return "not a message of this script";
			become(manager.getEntry(id).message, json(b));
			return manager.rewriteEntries();
		}
		case "thinking":
			return manager.appendThinkingLevelChange(optional(a));
		case "tier":
			return manager.appendServiceTierChange(optional(a) ?? null);
		case "mode":
			return manager.appendModeChange(text(a), json(b));
		case "context":
			return manager.appendContextChange(text(a), text(b), text(c));
		case "model":
			return manager.appendModelChange(text(a), optional(b));
		case "init":
			return manager.appendSessionInit({ systemPrompt: text(a), task: text(b), tools: list(c), outputSchema: json(d) });
		case "compaction":
			return manager.appendCompaction(text(a), optional(b), idAt(c), Number(d), json(f), choice(e), json(g));
		case "custom":
			return manager.appendCustomEntry(text(a), json(b));
		case "custom-message":
			return manager.appendCustomMessageEntry(text(a), json(e), b === "yes", json(d), optional(c));
		case "mcp":
			return manager.appendMCPToolSelection(list(a));
		case "ttsr":
			return manager.appendTtsrInjection(list(a));
		case "label":
			return manager.appendLabelChange(idAt(a), optional(b));
		case "branch":
			return manager.branch(idAt(a));
		case "reset":
			return manager.resetLeaf();
		case "branch-summary":
			return manager.branchWithSummary(a === "~" ? null : idAt(a), text(b), json(d), choice(c));
		case "artifact":
			return manager.saveArtifact(text(b), text(a));
		case "allocate":
			return (await manager.allocateArtifactPath(text(a))).id ?? "none";
		case "blob":
			return (await manager.putBlob(Buffer.from(text(a)))).ref;
	}
	throw new Error(`there is no operation ${name}`);
}

const log = [];
let number = 0;
for (const line of fs.readFileSync(script, "utf8").split("\n")) {
	number++;
	if (line === "" || line.startsWith("#")) continue;
	const fields = expand(line).split("\t");
	let result;
	try {
		result = await step(fields);
	} catch (error) {
		if (error.name !== "LeaflogError") throw new Error(`line ${number}: ${line.slice(0, 200)}`, { cause: error });
		result = error.code;
	}
	const manager = managers[used];
	log.push(`${number}\t${fields[0]}\t${result ?? "ok"}\t${manager?.getLeafId() ?? "-"}\n`);
	const file = manager?.getSessionFile();
	if (file !== undefined && !files.includes(file)) files.push(file);
}
fs.writeFileSync(logFile, log.join(""));
// The other faces let go of what is open, too: a process that just ends says nowhere that it did.
for (const manager of managers) await manager?.close().catch(() => {});
