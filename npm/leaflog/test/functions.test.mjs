import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import {
	ArtifactManager,
	BlobStore,
	buildSessionContext,
	CURRENT_SESSION_VERSION,
	createBranchSummaryMessage,
	createCompactionSummaryMessage,
	createCustomMessage,
	externalizeImageData,
	externalizeImageDataUrl,
	getLatestCompactionEntry,
	isBlobRef,
	isImageDataUrl,
	loadEntriesFromFile,
	migrateSessionEntries,
	parseBlobRef,
	parseSessionEntries,
	resolveImageData,
	resolveImageDataUrl,
	SessionManager,
} from "leaflog";
import { assistant, session as sessionOf, tempDir, user, write } from "./support.mjs";

const time = "2026-02-16T10:20:30.000Z";

describe("functions over entries", () => {
	test("C: parseSessionEntries takes what parses", () => {
		const [header, entry] = sessionOf([["message", { message: user("é🎉") }]]);
		const text = `${JSON.stringify(header)}\n\nnonsense\n42\r\n${JSON.stringify(entry)} tail\n{"type":"custom"}{"type":"label"}\n{"type":"mes`;
		assert.deepEqual(parseSessionEntries(text), [header, entry, { type: "custom" }, { type: "label" }]);
		assert.deepEqual(parseSessionEntries(""), []);
		assert.deepEqual(parseSessionEntries('{"type":"custom"}'), [{ type: "custom" }]);
	});

	test("C: loadEntriesFromFile gives the header first, and nothing is migrated", async () => {
		const dir = tempDir();
		const old = { type: "session", id: "s", timestamp: time, cwd: "/" };
		const entry = { type: "message", timestamp: time, message: { role: "hookMessage" } };
		const file = write(path.join(dir, "s.jsonl"), [entry, old, entry]);
		assert.deepEqual(await loadEntriesFromFile(file), [old, entry, entry]);
		assert.deepEqual(await loadEntriesFromFile(path.join(dir, "none")), []);
		assert.deepEqual(await loadEntriesFromFile(write(path.join(dir, "x"), [entry])), []);
		await assert.rejects(loadEntriesFromFile(dir), { code: "IS_A_DIRECTORY" });
	});

	test("R10, R11: migrateSessionEntries changes entries in place", () => {
		const message = { role: "hookMessage", content: ["x"] };
		const entries = [
			{ type: "session", id: "s", timestamp: time, cwd: "/" },
			{ type: "message", timestamp: time, message },
			{ type: "compaction", timestamp: time, summary: "s", firstKeptEntryIndex: 1, tokensBefore: 1 },
		];
		const [header, first, second] = entries;
		migrateSessionEntries(entries);
		assert.equal(entries[1], first);
		assert.equal(first.message, message);
		assert.equal(message.role, "custom");
		assert.equal(header.version, CURRENT_SESSION_VERSION);
		assert.match(first.id, /^[0-9a-f]{8}$/);
		assert.equal(first.parentId, null);
		assert.equal(second.parentId, first.id);
		assert.equal(second.firstKeptEntryId, first.id);
		assert.equal("firstKeptEntryIndex" in second, false);
		const again = structuredClone(entries);
		migrateSessionEntries(entries);
		assert.deepEqual(entries, again);
		const two = [
			{ type: "session", version: 2, id: "s", timestamp: time, cwd: "/" },
			{ type: "message", id: "keep", parentId: null, timestamp: time, message: { role: "hookMessage" } },
		];
		migrateSessionEntries(two);
		assert.equal(two[1].id, "keep");
		assert.equal(two[1].message.role, "custom");
	});

	test("R23-R27: buildSessionContext over entries", () => {
		const [, ...entries] = sessionOf([
			["message", { message: user("1") }],
			["message", { message: assistant("2") }],
			["custom_message", { customType: "x", content: [{ type: "text", text: "t" }], display: false, details: {} }],
			["compaction", { summary: "s", firstKeptEntryId: "e2", tokensBefore: 1 }],
			["message", { message: user("3") }],
		]);
		const context = buildSessionContext(entries);
		assert.deepEqual(
			context.messages.map((message) => message.role),
			["compactionSummary", "assistant", "custom", "user"],
		);
		assert.equal(context.messages[1], entries[1].message);
		assert.equal(context.messages[2].content, entries[2].content);
		assert.deepEqual(context.models, { default: "acme/large" });
		assert.deepEqual(buildSessionContext(entries, null).messages, []);
		assert.deepEqual(buildSessionContext([]).messages, []);
		assert.deepEqual(buildSessionContext(entries, "e1").messages, [entries[0].message]);
		assert.equal(buildSessionContext(entries, "none").messages.length, 4);
		const byId = new Map(entries.map((entry) => [entry.id, entry]));
		assert.equal(buildSessionContext(entries, "e5", byId).messages.length, 4);
		assert.equal(buildSessionContext([], "e2", byId).messages.length, 2);
		assert.equal(getLatestCompactionEntry(entries), entries[3]);
		assert.equal(getLatestCompactionEntry([]), null);
	});

	test("buildSessionContext over a manager's entries is the manager's", async () => {
		const file = write(
			path.join(tempDir(), "s.jsonl"),
			sessionOf([
				["message", { message: user("1") }],
				["message", { message: assistant("2") }],
			]),
		);
		const session = await SessionManager.open(file);
		const context = buildSessionContext(session.getEntries(), session.getLeafId());
		assert.deepEqual(context, session.buildSessionContext());
		assert.equal(context.messages[1], session.getEntries()[1].message);
	});

	test("R26: the messages that entries give", () => {
		const at = Date.parse(time);
		assert.equal(
			JSON.stringify(createCustomMessage("x", "c", true, { d: 1 }, time, "user")),
			`{"role":"custom","customType":"x","content":"c","display":true,"details":{"d":1},"attribution":"user","timestamp":${at}}`,
		);
		assert.equal(
			JSON.stringify(createBranchSummaryMessage("s", "root", time)),
			`{"role":"branchSummary","summary":"s","fromId":"root","timestamp":${at}}`,
		);
		const payload = { type: "openaiResponsesHistory", items: [] };
		assert.equal(
			JSON.stringify(createCompactionSummaryMessage("s", 5, time, "t", payload)),
			`{"role":"compactionSummary","summary":"s","shortSummary":"t","tokensBefore":5,"providerPayload":{"type":"openaiResponsesHistory","items":[]},"timestamp":${at}}`,
		);
	});
});

describe("blobs and artifacts by themselves", () => {
	test("R2, R51: BlobStore", async () => {
		const dir = path.join(tempDir(), "blobs");
		const store = new BlobStore(dir);
		const bytes = Buffer.from([0, 1, 2, 255]);
		const hash = createHash("sha256").update(bytes).digest("hex");
		assert.equal(await store.has(hash), false);
		assert.equal(await store.get(hash), null);
		const put = await store.put(bytes);
		assert.deepEqual({ ...put }, { hash, path: path.join(dir, hash), ref: `blob:sha256:${hash}` });
		assert.deepEqual(await store.get(hash), bytes);
		assert.equal(await store.has(hash), true);
		assert.equal(await store.has("../x"), false);
		fs.writeFileSync(path.join(dir, hash), "damaged");
		assert.equal(await store.get(hash), null);
	});

	test("R51: references", () => {
		const hash = "0123456789abcdef".repeat(4);
		assert.equal(isBlobRef(`blob:sha256:${hash}`), true);
		assert.equal(parseBlobRef(`blob:sha256:${hash}`), hash);
		for (const text of [
			"blob:sha256:",
			`blob:sha256:${hash.toUpperCase()}`,
			`blob:sha256:${hash}0`,
			"blob:sha256:../x",
			"",
		]) {
			assert.equal(isBlobRef(text), false, text);
			assert.equal(parseBlobRef(text), null, text);
		}
		assert.equal(isImageDataUrl("data:image/png;base64,AAAA"), true);
		assert.equal(isImageDataUrl("data:image/png,AAAA"), false);
		assert.equal(isImageDataUrl("data:text/plain;base64,AAAA"), false);
	});

	test("C: images to references and back", async () => {
		const store = new BlobStore(path.join(tempDir(), "blobs"));
		const data = Buffer.alloc(100, "x").toString("base64");
		const reference = await externalizeImageData(store, data);
		assert.equal(isBlobRef(reference), true);
		assert.equal(await externalizeImageData(store, reference), reference);
		assert.equal(await resolveImageData(store, reference), data);
		assert.equal(await resolveImageData(store, data), data);
		const url = `data:image/png;base64,${data}`;
		const urlReference = await externalizeImageDataUrl(store, url);
		assert.equal(await externalizeImageDataUrl(store, urlReference), urlReference);
		assert.equal(await resolveImageDataUrl(store, urlReference), url);
		const missing = `blob:sha256:${"0".repeat(64)}`;
		assert.equal(await resolveImageData(store, missing), missing);
		assert.equal(await resolveImageDataUrl(store, missing), missing);
	});

	test("C: ArtifactManager", async () => {
		const file = path.join(tempDir(), "s.jsonl");
		const artifacts = new ArtifactManager(file);
		assert.equal(artifacts.dir, file.slice(0, -6));
		assert.deepEqual(await artifacts.listFiles(), []);
		assert.equal(await artifacts.save("x", "bash"), "0");
		const { id, path: where } = await artifacts.allocatePath("read");
		assert.equal(id, "1");
		assert.equal(where, path.join(artifacts.dir, "1.read.log"));
		assert.equal(await artifacts.getPath("0"), path.join(artifacts.dir, "0.bash.log"));
		assert.equal(await artifacts.exists("0"), true);
		assert.equal(await artifacts.exists("2"), false);
		assert.deepEqual((await artifacts.listFiles()).sort(), ["0.bash.log", "1.read.log"]);
		assert.throws(() => new ArtifactManager("/s.txt"), { code: "INVALID_ARGUMENT" });
	});
});
