import assert from "node:assert/strict";
import * as fs from "node:fs";
import * as path from "node:path";
import { describe, test } from "node:test";
import { SessionManager } from "leaflog";
import { assistant, lines, session as sessionOf, tempDir, user, write } from "./support.mjs";

async function opened(values) {
	return SessionManager.open(write(path.join(tempDir(), "s.jsonl"), values));
}

const ms = (second) => Date.parse(`2026-02-16T10:20:${String(second).padStart(2, "0")}.000Z`);

describe("reading", () => {
	test("C: what a session says of itself", async () => {
		const dir = tempDir();
		const file = write(path.join(dir, "s.jsonl"), sessionOf([["message", { message: user("1") }]], { cwd: "/p" }));
		const session = await SessionManager.open(file);
		assert.equal(session.getCwd(), "/p");
		assert.equal(session.getSessionDir(), dir);
		assert.equal(session.getSessionFile(), file);
		assert.equal(session.getSessionId(), "1f9d2a6b9c0d1234");
		assert.equal(session.getSessionName(), undefined);
		assert.equal(session.titleSource, undefined);
		assert.equal(session.isPersisted(), true);
		assert.equal(session.getLeafId(), "e1");
		assert.deepEqual(session.getHeader(), {
			type: "session",
			version: 3,
			id: "1f9d2a6b9c0d1234",
			timestamp: "2026-02-16T10:20:00.000Z",
			cwd: "/p",
		});
		assert.equal(session.getHeader(), session.getHeader());
		const elsewhere = await SessionManager.open(file, "/other/dir");
		assert.equal(elsewhere.getSessionDir(), "/other/dir");
	});

	test("R28: a session in memory has no file", async () => {
		const session = SessionManager.inMemory("/p");
		assert.equal(session.isPersisted(), false);
		assert.equal(session.getSessionFile(), undefined);
		assert.equal(session.getCwd(), "/p");
		assert.equal(session.getLeafId(), null);
		assert.equal(session.getLeafEntry(), undefined);
		session.appendMessage(assistant("a"));
		await session.flush();
		await session.ensureOnDisk();
		assert.equal(await session.fork(), undefined);
		await session.close();
		assert.equal(session.getEntries().length, 1);
		assert.equal(SessionManager.inMemory().getCwd(), process.cwd());
	});

	test("R24, R49: the tree: orphans are roots, children the oldest first, labels resolved", async () => {
		const at = (id, parentId, second, fields) => ({
			type: "custom",
			customType: "x",
			id,
			parentId,
			timestamp: `2026-02-16T10:20:${second}.000Z`,
			...fields,
		});
		const session = await opened([
			...sessionOf([]),
			at("a", null, "10"),
			at("c", "a", "30"),
			at("b", "a", "20"),
			at("d", "c", "40"),
			at("o", "gone", "50"),
			{ ...at("l", "d", "55"), type: "label", targetId: "b", label: "mark" },
			at("s", "s", "56"),
		]);
		const shape = (node) => [node.entry.id, node.label, node.children.map(shape)];
		assert.deepEqual(session.getTree().map(shape), [
			[
				"a",
				undefined,
				[
					["b", "mark", []],
					["c", undefined, [["d", undefined, [["l", undefined, []]]]]],
				],
			],
			["o", undefined, []],
			["s", undefined, []],
		]);
		assert.equal("label" in session.getTree()[1], false);
		assert.deepEqual(
			session.getChildren("a").map((entry) => entry.id),
			["c", "b"],
		);
		assert.deepEqual(session.getChildren("none"), []);
		assert.deepEqual(
			session.getBranch("d").map((entry) => entry.id),
			["a", "c", "d"],
		);
		assert.deepEqual(session.getBranch("none"), []);
		assert.equal(session.getLabel("b"), "mark");
		assert.equal(session.getLabel("a"), undefined);
	});

	test("R49: a chain of 100,000 entries and a deep tree end", () => {
		const session = SessionManager.inMemory("/x");
		for (let at = 0; at < 100_000; at++) session.appendCustomEntry("x");
		let [node] = session.getTree();
		let depth = 0;
		for (; node !== undefined; [node] = node.children) depth++;
		assert.equal(depth, 100_000);
		assert.equal(session.getBranch().length, 100_000);
	});

	test("R19-R21: branches", async () => {
		const session = await opened(
			sessionOf([
				["message", { message: user("1") }],
				["message", { message: assistant("2") }],
			]),
		);
		session.branch("e1");
		assert.equal(session.getLeafId(), "e1");
		const sibling = session.appendMessage(user("3"));
		assert.equal(session.getEntry(sibling).parentId, "e1");
		session.resetLeaf();
		assert.equal(session.getLeafId(), null);
		assert.deepEqual(session.getBranch(), []);
		assert.deepEqual(session.buildSessionContext().messages, []);
		const root = session.appendMessage(user("4"));
		assert.equal(session.getEntry(root).parentId, null);
		assert.throws(() => session.branch("none"), {
			code: "ENTRY_NOT_FOUND",
			message: `${session.getSessionFile()}: Entry none not found`,
		});
		assert.throws(() => session.branchWithSummary("none", "s"), { code: "ENTRY_NOT_FOUND" });
		assert.equal(session.getLeafId(), root);
		const summary = session.branchWithSummary("e2", "left");
		assert.equal(session.getLeafId(), summary);
		assert.equal(session.getEntry(summary).parentId, "e2");
		assert.throws(() => session.branchWithSummary("e1", "s", 1n), { code: "INVALID_ARGUMENT" });
		assert.equal(session.getLeafId(), summary);
	});

	test("R25: state along the path", async () => {
		const session = await opened(
			sessionOf([
				["thinking_level_change", { thinkingLevel: "high" }],
				["model_change", { model: "acme/small", role: "smol" }],
				["model_change", { model: "acme/first" }],
				["message", { message: assistant("named", undefined) }],
				["service_tier_change", { serviceTier: "flex" }],
				["ttsr_injection", { injectedRules: ["r2", "r1"] }],
				["ttsr_injection", { injectedRules: ["r1", "r3"] }],
				["mcp_tool_selection", { selectedToolNames: ["a", "b"] }],
				["mode_change", { mode: "plan", data: { file: "p" } }],
				["context_change", { contextName: "c", tenant: "t", namespace: "n" }],
			]),
		);
		const { messages, ...state } = session.buildSessionContext();
		assert.equal(messages.length, 1);
		assert.deepEqual(state, {
			thinkingLevel: "high",
			serviceTier: "flex",
			models: { smol: "acme/small", default: "acme/large" },
			activeContextName: "c",
			activeContextTenant: "t",
			injectedTtsrRules: ["r2", "r1", "r3"],
			selectedMCPToolNames: ["a", "b"],
			hasPersistedMCPToolSelection: true,
			mode: "plan",
			modeData: { file: "p" },
		});
		assert.deepEqual(session.getInjectedTtsrRules(), ["r2", "r1", "r3"]);
		assert.equal(session.getLastModelChangeRole(), "default");
		session.branch("e2");
		assert.equal(session.getLastModelChangeRole(), "smol");
		session.branch("e1");
		assert.equal(session.getLastModelChangeRole(), undefined);
		assert.deepEqual(session.buildSessionContext(), {
			messages: [],
			thinkingLevel: "high",
			models: {},
			injectedTtsrRules: [],
			selectedMCPToolNames: [],
			hasPersistedMCPToolSelection: false,
			mode: "none",
		});
	});

	test("R26, R27: messages, and what a compaction leaves of them", async () => {
		const session = await opened(
			sessionOf([
				["message", { message: user("1") }],
				["message", { message: assistant("2") }],
				["custom_message", { customType: "x", content: "c", display: true, details: { d: 1 }, attribution: "user" }],
				["compaction", { summary: "sum", shortSummary: "s", firstKeptEntryId: "e2", tokensBefore: 9 }],
				["branch_summary", { fromId: "e1", summary: "left" }],
				["branch_summary", { fromId: "e1", summary: "" }],
				["custom", { customType: "x" }],
				["message", { message: user("3") }],
			]),
		);
		assert.deepEqual(JSON.parse(JSON.stringify(session.buildSessionContext().messages)), [
			{ role: "compactionSummary", summary: "sum", shortSummary: "s", tokensBefore: 9, timestamp: ms(4) },
			assistant("2"),
			{
				role: "custom",
				customType: "x",
				content: "c",
				display: true,
				details: { d: 1 },
				attribution: "user",
				timestamp: ms(3),
			},
			{ role: "branchSummary", summary: "left", fromId: "e1", timestamp: ms(5) },
			user("3"),
		]);
		assert.deepEqual(Object.keys(session.buildSessionContext().messages[0]), [
			"role",
			"summary",
			"shortSummary",
			"tokensBefore",
			"providerPayload",
			"timestamp",
		]);
	});

	test("C: a compaction that a provider made itself carries its history and keeps nothing before it", async () => {
		const items = [{ type: "message", id: 1 }];
		const session = await opened(
			sessionOf([
				["message", { message: user("1") }],
				[
					"compaction",
					{
						summary: "sum",
						firstKeptEntryId: "e1",
						tokensBefore: 9,
						preserveData: { openaiRemoteCompaction: { provider: "openai", replacementHistory: items } },
					},
				],
				["message", { message: user("2") }],
			]),
		);
		const { messages } = session.buildSessionContext();
		assert.equal(messages.length, 2);
		assert.deepEqual(messages[0].providerPayload, { type: "openaiResponsesHistory", provider: "openai", items });
		assert.equal(
			messages[0].providerPayload.items,
			session.getEntry("e2").preserveData.openaiRemoteCompaction.replacementHistory,
		);
	});

	test("C: usage sums assistant messages and results of the tool task, in an object that lives", async () => {
		const usage = { input: 10, output: 20, cacheRead: 30, cacheWrite: 40, premiumRequests: 1, cost: { total: 0.5 } };
		const session = await opened(
			sessionOf([
				["message", { message: assistant("1", usage) }],
				["message", { message: { role: "toolResult", toolName: "task", details: { usage }, content: [] } }],
				["message", { message: { role: "toolResult", toolName: "read", details: { usage }, content: [] } }],
				["message", { message: { role: "assistant", content: [], usage: { input: 1 } } }],
				["message", { message: { role: "assistant", content: [] } }],
			]),
		);
		const sums = session.getUsageStatistics();
		assert.deepEqual(sums, { input: 21, output: 40, cacheRead: 60, cacheWrite: 80, premiumRequests: 2, cost: 1 });
		session.branch("e1");
		session.appendMessage(assistant("2", usage));
		assert.equal(sums.input, 31);
		assert.equal(session.getUsageStatistics(), sums);
		await session.newSession();
		assert.equal(session.getUsageStatistics().input, 0);
		assert.equal(sums.input, 31);
	});

	test("R50: the load report", async () => {
		const file = write(path.join(tempDir(), "s.jsonl"), [
			...sessionOf([["message", { message: user("1") }]]),
			"not json",
			"42",
			`{"type":"custom","customType":"x","id":"a","parentId":"gone","timestamp":"2026-02-16T10:20:30.000Z"} tail`,
			`{"type":"custom","customType":"x","id":"e1","parentId":null,"timestamp":"2026-02-16T10:20:30.000Z"}`,
			`{"type":"custom","customType":"x"}`,
			`{"type":"custom","customType":"x","id":"c","parentId":"c","timestamp":"2026-02-16T10:20:30.000Z"}`,
		]);
		assert.deepEqual((await SessionManager.open(file)).getLoadReport(), {
			skippedLines: [
				{ line: 3, reason: "invalid" },
				{ line: 4, reason: "not-an-entry" },
			],
			trailingText: [{ line: 5, bytes: 4 }],
			fragments: [],
			spreadValues: [],
			duplicateIds: [{ id: "e1", lines: [2, 6] }],
			entriesWithoutId: [7],
			missingParents: [{ id: "a", line: 5, parentId: "gone" }],
			cycles: [["c"]],
			emptyCompactions: [],
			missingBlobs: [],
			newerVersion: null,
			setAsideFile: null,
		});
	});

	test("R48: a title slot is the title", async () => {
		const slot = { type: "title", v: 1, title: "slot", source: "user", updatedAt: "2026-02-16T10:20:30.000Z", pad: "" };
		slot.pad = " ".repeat(255 - JSON.stringify(slot).length);
		const session = await opened([slot, ...sessionOf([], { title: "header", titleSource: "auto" })]);
		assert.equal(session.getSessionName(), "slot");
		assert.equal(session.titleSource, "user");
		assert.equal(session.getHeader().title, "slot");
		assert.equal(await session.setSessionName("other", "auto"), false);
		assert.equal(await session.setSessionName("mine", "user"), true);
		assert.equal(session.getHeader().title, "mine");
	});

	test("u04: only a provider's own history leaves keys behind, however it is read", async () => {
		const thinking = { type: "thinking", thinking: "t" };
		const history = {
			role: "assistant",
			content: [thinking, null, 1],
			providerPayload: { type: "openaiResponsesHistory" },
		};
		const other = { role: "assistant", content: [thinking], providerPayload: { type: "other" } };
		const plain = { role: "assistant", content: [thinking] };
		const entries = [history, other, plain, [1, 2], [[3, 1], 1]].map((message) => ["message", { message }]);
		const without = {
			role: "assistant",
			content: [{ ...thinking, thinkingSignature: undefined }, null, 1],
			providerPayload: undefined,
		};
		const expected = [without, other, plain, [1, 2], [[3, 1], 1]];
		const chain = sessionOf(entries);
		assert.deepEqual(
			(await opened(chain)).getEntries().map((entry) => entry.message),
			expected,
		);
		assert.deepEqual((await opened(chain)).buildSessionContext().messages.slice(0, 3), expected.slice(0, 3));
		// Entries with other keys are read whole.
		const more = sessionOf(entries.map(([type, fields]) => [type, { ...fields, more: 1 }]));
		assert.deepEqual(
			(await opened(more)).getEntries().map((entry) => entry.message),
			expected,
		);
		// Nothing counts as changed.
		const session = await opened(chain);
		for (const entry of session.getEntries()) void entry.message;
		const before = fs.readFileSync(session.getSessionFile(), "utf8");
		await session.rewriteEntries();
		assert.equal(fs.readFileSync(session.getSessionFile(), "utf8"), before);
	});

	test("C: a provider's own history goes out of assistant messages when they are loaded, or when asked", async () => {
		const payload = { type: "openaiResponsesHistory", provider: "openai", items: [1] };
		const message = {
			role: "assistant",
			content: [{ type: "thinking", thinking: "t", thinkingSignature: "s" }],
			providerPayload: payload,
		};
		const session = await opened(
			sessionOf([
				["message", { message }],
				["message", { message: { ...message, role: "user" } }],
			]),
		);
		// The keys are there, with the value undefined (U4).
		const clean = {
			role: "assistant",
			content: [{ type: "thinking", thinking: "t", thinkingSignature: undefined }],
			providerPayload: undefined,
		};
		assert.deepEqual(session.getEntry("e1").message, clean);
		assert.deepEqual(session.getEntry("e2").message.providerPayload, payload);
		assert.equal(session.sanitizeLoadedOpenAIResponsesReplayMetadata(), false);
		const own = session.appendMessage({ ...message });
		assert.deepEqual(session.getEntry(own).message.providerPayload, payload);
		assert.equal(session.sanitizeLoadedOpenAIResponsesReplayMetadata(), true);
		assert.deepEqual(session.getEntry(own).message, clean);
		assert.deepEqual(session.buildSessionContext().messages[2], clean);
		assert.equal(session.sanitizeLoadedOpenAIResponsesReplayMetadata(), false);
		// No rewrite loses it, not after going back to a moment before it went out either.
		const kept = () => lines(session.getSessionFile()).map((entry) => entry.message);
		const all = [undefined, message, { ...message, role: "user" }, message];
		await session.rewriteEntries();
		assert.deepEqual(kept(), all);
		session.appendMessage({ ...message });
		const before = session.captureState();
		assert.equal(session.sanitizeLoadedOpenAIResponsesReplayMetadata(), true);
		session.restoreState(before);
		await session.rewriteEntries();
		assert.deepEqual(kept(), [...all, message]);
	});
});
