// Uses every export as an agent does. It is checked, never run.
import {
	ArtifactManager,
	type BlobPutResult,
	BlobStore,
	type BranchSummaryEntry,
	type BranchSummaryMessage,
	buildSessionContext,
	type CompactionEntry,
	type CompactionSummaryMessage,
	type ContextChangeEntry,
	CURRENT_SESSION_VERSION,
	type CustomEntry,
	type CustomMessage,
	type CustomMessageEntry,
	configure,
	createBranchSummaryMessage,
	createCompactionSummaryMessage,
	createCustomMessage,
	externalizeImageData,
	externalizeImageDataUrl,
	type FileEntry,
	FileSessionStorage,
	findMostRecentSession,
	getLatestCompactionEntry,
	getRecentSessions,
	type HistoryEntry,
	HistoryStorage,
	isBlobRef,
	isImageDataUrl,
	type LabelEntry,
	LeaflogError,
	type LeaflogErrorCode,
	type LeaflogOptions,
	type ListOptions,
	type LoadReport,
	type Logger,
	loadEntriesFromFile,
	type MCPToolSelectionEntry,
	MemorySessionStorage,
	type ModeChangeEntry,
	type ModelChangeEntry,
	migrateSessionEntries,
	type NewSessionOptions,
	type OpenWriterOptions,
	type PersistStatus,
	parseBlobRef,
	parseSessionEntries,
	type ReadonlySessionManager,
	type RecentSessionInfo,
	type ResolvedSessionMatch,
	resolveImageData,
	resolveImageDataUrl,
	resolveResumableSession,
	SequenceGenerator,
	type ServiceTierChangeEntry,
	type SessionContext,
	type SessionEntry,
	type SessionEntryBase,
	type SessionHeader,
	type SessionInfo,
	type SessionInitEntry,
	SessionManager,
	type SessionManagerStateSnapshot,
	type SessionMessageEntry,
	type SessionStorage,
	type SessionStorageStat,
	type SessionStorageWriter,
	type SessionTreeNode,
	SessionView,
	type ThinkingLevelChangeEntry,
	type TitleSource,
	type TtsrInjectionEntry,
	type UsageStatistics,
} from "leaflog";

interface UserMessage {
	role: "user";
	content: string | { type: "text"; text: string }[];
	timestamp: number;
}

interface AssistantMessage {
	role: "assistant";
	content: { type: "text"; text: string }[];
	provider: string;
	model: string;
}

type MyMessage = UserMessage | AssistantMessage | CustomMessage | BranchSummaryMessage | CompactionSummaryMessage;

declare module "leaflog" {
	interface Register {
		AgentMessage: MyMessage;
		ServiceTier: "flex" | "priority";
	}
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(..._: Same<A, B> extends true ? [] : [never]): void {}

const logger: Logger = { error: (message, details) => console.error(message, details?.sessionFile) };
const options: LeaflogOptions = {
	agentDir: "/a",
	configDirName: ".x",
	dirNaming: "home-relative",
	migrationRewrite: "deferred",
	durability: "every-append",
	lockTimeoutMs: 10,
	generator: new SequenceGenerator(new Date(0), 1000),
	logger,
};
configure(options);
// @ts-expect-error: no such value
configure({ durability: "never" });
// @ts-expect-error: only a generator of this package, whose state native code has
configure({ generator: {} });

export async function statics(storage: SessionStorage): Promise<SessionManager[]> {
	const listOptions: ListOptions = {
		...options,
		signal: AbortSignal.timeout(1),
		onProgress: (done, total) => done / total,
		onProblem: (problem: LeaflogError) => console.log(problem.path),
	};
	const sessions: SessionInfo[] = await SessionManager.list("/", "/s", storage, listOptions);
	sessions.sort((a, b) => b.modified.getTime() - a.modified.getTime() || a.messageCount - b.messageCount);
	const all: SessionInfo[] = await SessionManager.listAll(storage);
	same<(typeof all)[number]["title"], string | undefined>();
	const dir: string = SessionManager.getDefaultSessionDir("/", "/agent", storage);
	return [
		SessionManager.create("/", dir, storage, options),
		SessionManager.inMemory(),
		await SessionManager.open("/s.jsonl", undefined, storage),
		await SessionManager.continueRecent("/", dir),
		await SessionManager.forkFrom("/s.jsonl", "/", dir, storage),
	];
}

export async function life(session: SessionManager): Promise<void> {
	await session.setSessionFile("/s.jsonl");
	const next: NewSessionOptions = { parentSession: "p" };
	const file: string | undefined = await session.newSession(next);
	const fork = await session.fork();
	same<typeof fork, { oldSessionFile: string; newSessionFile: string } | undefined>();
	await session.moveTo("/");
	const branched: string | undefined = session.createBranchedSession("id");
	const state: SessionManagerStateSnapshot = session.captureState();
	session.restoreState(state);
	const id: string = state.sessionId + file + branched;
	await session.ensureOnDisk();
	await session.flush();
	session.flushSync();
	await session.close();
	session.closeSync();
	await session.rewriteEntries();
	const sanitized: boolean = session.sanitizeLoadedOpenAIResponsesReplayMetadata();
	const source: TitleSource = sanitized ? "user" : "auto";
	const taken: boolean = await session.setSessionName(id, source);
	const persisted: boolean = taken && session.isPersisted();
	const status: PersistStatus = session.persistStatus();
	console.log(persisted, status.error?.message, status.unsaved);
	using disposed = session;
	await using asyncDisposed = disposed;
	asyncDisposed.getCwd();
}

export function append(session: SessionManager): string[] {
	// @ts-expect-error: not one of the messages
	session.appendMessage({ role: "robot" });
	// @ts-expect-error: not one of the tiers
	session.appendServiceTierChange("slow");
	return [
		session.appendMessage({ role: "user", content: "x", timestamp: 1 }),
		session.appendThinkingLevelChange(),
		session.appendThinkingLevelChange("high"),
		session.appendServiceTierChange("flex"),
		session.appendServiceTierChange(null),
		session.appendModeChange("plan", { file: "p" }),
		session.appendContextChange("c", "t", "n"),
		session.appendModelChange("p/m", "smol"),
		session.appendSessionInit({ systemPrompt: "s", task: "t", tools: [], outputSchema: {} }),
		session.appendCompaction<{ d: number }>("s", undefined, "id", 1, { d: 1 }, true, { p: 1 }),
		session.appendCustomEntry("x", { any: 1 }),
		session.appendCustomMessageEntry<{ d: 1 }>("x", [{ type: "text", text: "t" }], true, { d: 1 }, "user"),
		session.appendMCPToolSelection(["a"]),
		session.appendTtsrInjection(["r"]),
		session.appendLabelChange("id", undefined),
		session.branchWithSummary(null, "s", {}, true),
	];
}

export function read(session: ReadonlySessionManager, manager: SessionManager): void {
	const header: SessionHeader | null = session.getHeader();
	const strings: (string | undefined | null)[] = [
		session.getCwd(),
		session.getSessionDir(),
		session.getSessionId(),
		session.getSessionFile(),
		session.getSessionName(),
		session.getLeafId(),
		session.getLabel("id"),
		session.getArtifactsDir(),
		manager.titleSource,
		manager.getLastModelChangeRole(),
		header?.parentSession,
		...manager.getInjectedTtsrRules(),
	];
	const leaf: SessionEntry | undefined = session.getLeafEntry();
	const entries: SessionEntry[] = [...session.getEntries(), ...session.getBranch("id"), ...manager.getChildren("id")];
	for (const entry of [leaf, session.getEntry("id"), ...entries]) if (entry) narrow(entry);
	const tree: SessionTreeNode[] = session.getTree();
	const usage: UsageStatistics = session.getUsageStatistics();
	const context: SessionContext = manager.buildSessionContext();
	same<(typeof context)["messages"], MyMessage[]>();
	const report: LoadReport = manager.getLoadReport();
	manager.branch("id");
	manager.resetLeaf();
	console.log(strings, tree[0]?.children[0]?.label, usage.cost, context.models.default, report.skippedLines[0]?.reason);
}

function narrow(entry: SessionEntry): unknown {
	const base: SessionEntryBase = entry;
	switch (entry.type) {
		case "message":
			return (entry satisfies SessionMessageEntry).message.role === "assistant" && base.id;
		case "thinking_level_change":
			return (entry satisfies ThinkingLevelChangeEntry).thinkingLevel;
		case "model_change":
			return (entry satisfies ModelChangeEntry).model;
		case "service_tier_change":
			return (entry satisfies ServiceTierChangeEntry).serviceTier;
		case "compaction":
			return (entry as CompactionEntry<{ d: number }>).details?.d;
		case "branch_summary":
			return (entry as BranchSummaryEntry<string>).details?.length;
		case "custom":
			return (entry as CustomEntry<number>).data?.toFixed();
		case "custom_message":
			return (entry as CustomMessageEntry<number>).details?.toFixed();
		case "label":
			return (entry satisfies LabelEntry).label;
		case "ttsr_injection":
			return (entry satisfies TtsrInjectionEntry).injectedRules;
		case "mcp_tool_selection":
			return (entry satisfies MCPToolSelectionEntry).selectedToolNames;
		case "session_init":
			return (entry satisfies SessionInitEntry).task;
		case "mode_change":
			return (entry satisfies ModeChangeEntry).mode;
		case "context_change":
			return (entry satisfies ContextChangeEntry).tenant;
		default:
			return entry satisfies never;
	}
}

export async function functions(storage: SessionStorage): Promise<void> {
	const entries: FileEntry[] = [...parseSessionEntries(""), ...(await loadEntriesFromFile("/s.jsonl", storage))];
	migrateSessionEntries(entries);
	const rest = entries.filter((entry): entry is SessionEntry => entry.type !== "session");
	const context = buildSessionContext(rest, null, new Map(rest.map((entry) => [entry.id, entry])));
	const compaction: CompactionEntry | null = getLatestCompactionEntry(rest);
	const recent: RecentSessionInfo[] = await getRecentSessions("/s", 3, storage);
	const path: string | null = await findMostRecentSession("/s", storage);
	const match: ResolvedSessionMatch | undefined = await resolveResumableSession("id", "/", "/s", storage);
	same<ResolvedSessionMatch["scope"], "local" | "global">();
	const messages = [
		createCustomMessage("x", "c", true, undefined, "t", "user"),
		createBranchSummaryMessage("s", "root", "t"),
		createCompactionSummaryMessage("s", 1, "t", "s", { type: "x", items: [] }),
	] satisfies MyMessage[];
	console.log(context, compaction, recent[0]?.timeAgo, path, match?.session.created, messages, CURRENT_SESSION_VERSION);
}

export async function storages(): Promise<void> {
	const file = new FileSessionStorage();
	await file.deleteSessionWithArtifacts("/s.jsonl");
	const storage: SessionStorage = new MemorySessionStorage();
	const stat: SessionStorageStat = storage.statSync("/s");
	const open: OpenWriterOptions = { flags: "w", onError: (error) => error.message };
	const writer: SessionStorageWriter = storage.openWriter("/s", open);
	await writer.writeLine(`${stat.size} ${stat.mtimeMs} ${stat.mtime.getTime()}\n`);
	const failure: Error | undefined = writer.getError();
	if (failure instanceof LeaflogError) {
		const code: LeaflogErrorCode | (string & {}) = failure.code;
		const entryId: string | undefined = failure.entryId;
		console.log(code, failure.path, failure.line, entryId, failure.cause);
	}
}

export async function look(storage: SessionStorage): Promise<SessionEntry[]> {
	const view: SessionView = await SessionView.open("/s.jsonl", storage, options);
	const context: SessionContext = view.buildSessionContext();
	console.log(view.getSessionId(), view.getCwd(), view.getSessionFile(), context.messages.length);
	view.close();
	// @ts-expect-error: a view appends nothing
	view.appendMessage;
	return view.getEntries();
}

export async function blobs(session: SessionManager): Promise<void> {
	const store = new BlobStore("/blobs");
	const put: BlobPutResult = await store.put(Buffer.from("x"));
	const other: BlobPutResult = await session.putBlob(new Uint8Array(1));
	const bytes: Buffer | null = await store.get(put.hash);
	const has: boolean = await store.has(other.hash);
	const texts: string[] = [
		await externalizeImageData(store, "x"),
		await externalizeImageDataUrl(store, "x"),
		await resolveImageData(store, put.ref),
		await resolveImageDataUrl(store, put.path),
	];
	const parsed: string | null = isBlobRef("x") || isImageDataUrl("x") ? parseBlobRef("x") : null;
	const artifacts = new ArtifactManager("/s.jsonl");
	const allocated: { id: string; path: string } = await artifacts.allocatePath("bash");
	const id: string = await artifacts.save("x", "bash");
	const path: string | null = await artifacts.getPath(id);
	const { id: maybe } = await session.allocateArtifactPath("bash");
	same<typeof maybe, string | undefined>();
	const saved: string | undefined = await session.saveArtifact("x", "bash");
	console.log(bytes, has, texts, parsed, allocated, path, saved, artifacts.dir, await artifacts.exists(id));
}

export async function history(): Promise<HistoryEntry[]> {
	const storage: HistoryStorage = HistoryStorage.open();
	await storage.add("x", "/");
	HistoryStorage.resetInstance();
	return [...storage.getRecent(1), ...storage.search("x", 1)];
}
