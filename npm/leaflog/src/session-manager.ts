import * as path from "node:path";
import { BlobStore } from "./blob-store";
import { effective, type LeaflogOptions, type Logger, nativeOptions } from "./config";
import { folders, type ListOptions, list } from "./discovery";
import { type CapturedEntries, type ContextPlan, Entries } from "./entries";
import { fromReason, invalid, LeaflogError } from "./errors";
import { buildMessage } from "./messages";
import { type Handle, native, type SlotHandle, type StateHandle } from "./native";
import { handled } from "./promises";
import { type Backing, backing, type Driver, type SessionStorage } from "./storage";
import type {
	AgentMessage,
	ArtifactPath,
	BlobPutResult,
	ContentBlock,
	LoadReport,
	MessageAttribution,
	NewSessionOptions,
	PersistStatus,
	ServiceTier,
	SessionContext,
	SessionEntry,
	SessionHeader,
	SessionInfo,
	SessionManagerStateSnapshot,
	SessionTreeNode,
	TitleSource,
	UsageStatistics,
} from "./types";

/** What only reads of a session. */
export type ReadonlySessionManager = Pick<
	SessionManager,
	| "getCwd"
	| "getSessionDir"
	| "getSessionId"
	| "getSessionFile"
	| "getSessionName"
	| "getArtifactsDir"
	| "allocateArtifactPath"
	| "saveArtifact"
	| "getArtifactPath"
	| "getLeafId"
	| "getLeafEntry"
	| "getEntry"
	| "getLabel"
	| "getBranch"
	| "getHeader"
	| "getEntries"
	| "getTree"
	| "getUsageStatistics"
	| "putBlob"
>;

interface Snapshot extends SessionManagerStateSnapshot {
	readonly state: StateHandle;
	readonly entries: CapturedEntries;
	readonly sanitized: number;
}

// Node 20 has these symbols; older engines that run this get the names everybody agreed on.
const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");

/**
 * One session that is worked on: read, appended to, branched, renamed, forked, moved.
 *
 * An append changes memory at once and the file before it returns, from the moment the session
 * starts: with the first assistant message, or when something asks for the file. Entries are plain
 * objects; each is the same object every time, and what is changed in place is written with the next
 * full rewrite ({@link SessionManager.rewriteEntries}).
 */
export class SessionManager {
	readonly #handle: Handle;
	readonly #options: LeaflogOptions;
	readonly #driver: Driver | undefined;
	#entries: Entries;
	/** The first assistant message, or something else, made the file. */
	#started = false;
	/** What `getUsageStatistics` handed out, kept up to date. */
	#usage: UsageStatistics | undefined;
	#header: SessionHeader | undefined;
	/** How often messages that are here were sanitized. */
	#sanitized = 0;

	private constructor(handle: Handle, options: LeaflogOptions, place: Backing) {
		if (place === undefined) throw invalid("SessionManager.create, open, continueRecent and inMemory make a session");
		const { driver } = place;
		this.#handle = handle;
		this.#options = options;
		this.#driver = driver;
		this.#entries = new Entries(handle);
		if (driver !== undefined) driver.session = handle;
	}

	/** A new session of the project at `cwd`. Its folder is made; nothing is written before it starts. */
	static create(cwd: string, sessionDir?: string, storage?: SessionStorage, options?: LeaflogOptions): SessionManager {
		const used = effective(options);
		const place = backing(storage);
		const handle = native.create(cwd, nativeOptions(used, sessionDir), place.handle);
		place.driver?.run();
		return new SessionManager(handle, used, place);
	}

	/** A session that is kept nowhere. */
	static inMemory(cwd?: string, storage?: SessionStorage, options?: LeaflogOptions): SessionManager {
		const used = effective(options);
		const place = backing(storage);
		const handle = native.inMemory(cwd ?? process.cwd(), nativeOptions(used, undefined), place.handle);
		return new SessionManager(handle, used, place);
	}

	/**
	 * The session at `path`, of the project that its header names. A missing or empty file becomes a
	 * new session at that path.
	 */
	static async open(
		filePath: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): Promise<SessionManager> {
		const used = effective(options);
		const place = backing(storage);
		const given = nativeOptions(used, sessionDir);
		await place.driver?.load(path.resolve(filePath));
		const handle =
			place.handle === undefined
				? await made((slot) => native.open(slot, filePath, given))
				: native.openNow(filePath, given, place.handle);
		return opened(new SessionManager(handle, used, place), place);
	}

	/** A new session of the project at `cwd` with the history of another. */
	static async forkFrom(
		sourcePath: string,
		cwd: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): Promise<SessionManager> {
		const used = effective(options);
		const place = backing(storage);
		const given = nativeOptions(used, sessionDir);
		await place.driver?.load(path.resolve(sourcePath));
		const handle =
			place.handle === undefined
				? await made((slot) => native.forkFrom(slot, sourcePath, cwd, given))
				: native.forkNow(sourcePath, cwd, given, place.handle);
		return opened(new SessionManager(handle, used, place), place);
	}

	/**
	 * Goes on with the session that was worked on last in the project: the one that this terminal had,
	 * else the newest. Without one, a new session.
	 */
	static async continueRecent(
		cwd: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): Promise<SessionManager> {
		const used = effective(options);
		const place = backing(storage);
		const given = nativeOptions(used, sessionDir);
		if (place.driver !== undefined && storage !== undefined) {
			const [session] = await list(cwd, sessionDir, storage, options);
			const manager = SessionManager.create(cwd, sessionDir, storage, options);
			if (session !== undefined) await manager.setSessionFile(session.path);
			return manager;
		}
		const handle =
			place.handle === undefined
				? await made((slot) => native.continueRecent(slot, cwd, given))
				: native.continueNow(cwd, given, place.handle);
		return new SessionManager(handle, used, place);
	}

	/** The sessions of a project, the newest first. */
	static async list(
		cwd: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: ListOptions,
	): Promise<SessionInfo[]> {
		return list(cwd, sessionDir, storage, options);
	}

	/** The sessions of all projects, the newest first. */
	static async listAll(storage?: SessionStorage, options?: ListOptions): Promise<SessionInfo[]> {
		return list(undefined, undefined, storage, options);
	}

	/** The folder that new sessions of the project at `cwd` go to by default. It is made. */
	static getDefaultSessionDir(
		cwd: string,
		agentDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): string {
		const used = effective(agentDir === undefined ? options : { ...options, agentDir });
		const place = backing(storage);
		const dir = native.defaultSessionDir(cwd, nativeOptions(used, undefined), place.handle);
		place.driver?.run();
		return dir;
	}

	// Life

	/** Goes on with the session at `path`; project and folder stay. */
	setSessionFile(sessionFile: string): Promise<void> {
		return handled(async () => {
			await this.#driver?.load(path.resolve(sessionFile));
			this.#switch(() => native.setSessionFile(this.#handle, sessionFile));
			await this.#done();
		});
	}

	/** Begins a new session of the project, and gives its file. */
	newSession(options?: NewSessionOptions): Promise<string | undefined> {
		return handled(async () => {
			await this.#driver?.idle();
			const file = this.#switch(() => native.newSession(this.#handle, options?.parentSession));
			await this.#done();
			return file ?? undefined;
		});
	}

	/** Goes on in a copy of the session with an id of its own. Artifacts are not copied. */
	fork(): Promise<{ oldSessionFile: string; newSessionFile: string } | undefined> {
		return handled(async () => {
			await this.#driver?.idle();
			const files = this.#copy(() => native.fork(this.#handle));
			await this.#done();
			return files === null ? undefined : { oldSessionFile: files[0], newSessionFile: files[1] };
		});
	}

	/** Moves the session, file and artifacts, to another project. */
	moveTo(newCwd: string): Promise<void> {
		return handled(async () => {
			const file = this.getSessionFile();
			if (this.#driver !== undefined && file !== undefined) {
				const dir = native.dirAfterMove(this.#handle, newCwd);
				await this.#driver.look(file, path.join(dir, path.basename(file)));
			}
			this.#write(() => native.moveTo(this.#handle, newCwd));
			await this.#done();
		});
	}

	/**
	 * Goes on in a session of its own that has only the path from the root to `leafId`. Gives its
	 * file; `undefined` when the session is kept nowhere.
	 */
	createBranchedSession(leafId: string): string | undefined {
		return this.#copy(() => native.createBranchedSession(this.#handle, leafId)) ?? undefined;
	}

	/** What the manager holds now. */
	captureState(): SessionManagerStateSnapshot {
		const snapshot: Snapshot = {
			sessionId: this.getSessionId(),
			sessionFile: this.getSessionFile(),
			entries: this.#entries.capture(),
			state: native.captureState(this.#handle),
			sanitized: this.#sanitized,
		};
		return snapshot;
	}

	/** Goes back to what the manager held. */
	restoreState(snapshot: SessionManagerStateSnapshot): void {
		const { state, entries, sanitized } = snapshot as Snapshot;
		if (state === undefined) throw invalid("restoreState takes what captureState gave");
		this.#entries.detach();
		this.#driver?.clear();
		native.restoreState(this.#handle, state);
		this.#driver?.run();
		this.#forget();
		// The objects stay what they have become.
		if (sanitized !== this.#sanitized) native.showAsLoaded(this.#handle);
		this.#entries = Entries.restored(this.#handle, entries);
	}

	/** The session is kept somewhere. */
	isPersisted(): boolean {
		return native.isPersisted(this.#handle);
	}

	/** Writes the session even though it has not started. After a failure, the way to try again. */
	ensureOnDisk(): Promise<void> {
		return handled(async () => {
			const file = this.getSessionFile();
			if (this.#driver !== undefined && file !== undefined) {
				await this.#driver.look(file);
				this.#driver.clear();
			}
			this.#write(() => native.ensureOnDisk(this.#handle));
			await this.#done();
		});
	}

	/** Waits until everything appended would survive a power cut. */
	flush(): Promise<void> {
		return handled(async () => {
			if (this.#driver === undefined) {
				try {
					await native.flush(this.#handle);
				} finally {
					this.#log();
				}
				return;
			}
			this.#call(() => native.flushNow(this.#handle));
			await this.#done();
		});
	}

	/** {@link SessionManager.flush}, at once. Not with a storage of the caller's own. */
	flushSync(): void {
		this.#needsNoPromise("flushSync");
		this.#call(() => native.flushNow(this.#handle));
	}

	/** Flushes and closes the file. The next append opens it again; entries can be read all the same. */
	close(): Promise<void> {
		return handled(async () => {
			await this.#driver?.idle();
			this.#call(() => native.close(this.#handle));
			await this.#done();
		});
	}

	/** {@link SessionManager.close}, at once. Not with a storage of the caller's own. */
	closeSync(): void {
		this.#needsNoPromise("closeSync");
		this.#call(() => native.close(this.#handle));
	}

	/** {@link SessionManager.closeSync}, and lets go of the file: nobody will read from it any more. */
	[dispose](): void {
		this.closeSync();
		native.release(this.#handle);
	}

	async [asyncDispose](): Promise<void> {
		await this.close();
		native.release(this.#handle);
	}

	#needsNoPromise(method: string): void {
		if (this.#driver !== undefined) throw invalid(`${method} cannot wait for a storage that gives promises`);
	}

	/** Writes the file anew, with the entries that were changed in place. */
	rewriteEntries(): Promise<void> {
		return handled(async () => {
			await this.#driver?.idle();
			this.#write(() => native.rewriteEntries(this.#handle));
			await this.#done();
		});
	}

	/**
	 * Takes a provider's own history, and the signatures of its thinking, out of assistant messages:
	 * both belong to a connection that is gone. The file keeps them. Says whether there was any.
	 */
	sanitizeLoadedOpenAIResponsesReplayMetadata(): boolean {
		// From here on an object without them says what is stored, and is not written for that.
		let found = native.showAsLoaded(this.#handle);
		// What was not touched yet comes without from where it is read.
		for (const entry of this.#entries.touched()) {
			if (entry.type !== "message") continue;
			const message = entry.message as Record<string, unknown> | null | undefined;
			const payload = message?.providerPayload as { type?: unknown } | null | undefined;
			if (message?.role !== "assistant" || payload?.type !== "openaiResponsesHistory") continue;
			const { providerPayload: _, ...rest } = message;
			if (Array.isArray(rest.content)) rest.content = rest.content.map(withoutThinkingSignature);
			entry.message = rest as AgentMessage;
			found = true;
		}
		if (found) this.#sanitized++;
		return found;
	}

	/** Gives the session a name; says whether it was taken. An `auto` name never replaces a `user` name. */
	setSessionName(name: string, source: TitleSource = "auto"): Promise<boolean> {
		return handled(async () => {
			const file = this.getSessionFile();
			if (this.#driver !== undefined && file !== undefined) await this.#driver.look(file);
			const taken = this.#write(() => native.setSessionName(this.#handle, name, source === "user"));
			await this.#done();
			return taken;
		});
	}

	// Append

	appendMessage(message: AgentMessage): string {
		const text = json(message);
		const role = (message as { role?: string } | null)?.role;
		if (!this.#started && role === "assistant") this.#beforeStart();
		let id: string;
		try {
			id = native.appendMessage(this.#handle, text);
		} catch (error) {
			throw this.#appendFailed(error, (failed) => this.#entries.giveMessage(failed, message));
		}
		this.#entries.giveMessage(id, message);
		this.#driver?.run();
		if (this.#usage !== undefined && (role === "assistant" || role === "toolResult")) this.getUsageStatistics();
		return id;
	}

	appendThinkingLevelChange(thinkingLevel?: string | null): string {
		return this.#appendEntry({ type: "thinking_level_change", thinkingLevel: thinkingLevel ?? null });
	}

	appendServiceTierChange(serviceTier: ServiceTier | null): string {
		return this.#appendEntry({ type: "service_tier_change", serviceTier: serviceTier ?? null });
	}

	appendModeChange(mode: string, data?: Record<string, unknown>): string {
		return this.#appendEntry({ type: "mode_change", mode, data });
	}

	appendContextChange(contextName: string, tenant: string, namespace: string): string {
		return this.#appendEntry({ type: "context_change", contextName, tenant, namespace });
	}

	appendModelChange(model: string, role?: string): string {
		return this.#appendEntry({ type: "model_change", model, role });
	}

	appendSessionInit(init: { systemPrompt: string; task: string; tools: string[]; outputSchema?: unknown }): string {
		return this.#appendEntry({ type: "session_init", ...init });
	}

	appendCompaction<T = unknown>(
		summary: string,
		shortSummary: string | undefined,
		firstKeptEntryId: string,
		tokensBefore: number,
		details?: T,
		fromExtension?: boolean,
		preserveData?: Record<string, unknown>,
	): string {
		return this.#appendEntry({
			type: "compaction",
			summary,
			shortSummary,
			firstKeptEntryId,
			tokensBefore,
			details,
			fromExtension,
			preserveData,
		});
	}

	appendCustomEntry(customType: string, data?: unknown): string {
		const text = data === undefined ? undefined : json(data);
		return this.#append({ data }, () => native.appendCustom(this.#handle, customType, text));
	}

	appendCustomMessageEntry<T = unknown>(
		customType: string,
		content: string | ContentBlock[],
		display: boolean,
		details?: T,
		attribution: MessageAttribution = "agent" as MessageAttribution,
	): string {
		const text = json(content);
		const detailsText = details === undefined ? undefined : json(details);
		return this.#append({ content, details }, () =>
			native.appendCustomMessage(this.#handle, customType, text, display, detailsText, attribution as string),
		);
	}

	appendMCPToolSelection(selectedToolNames: string[]): string {
		return this.#appendEntry({ type: "mcp_tool_selection", selectedToolNames: [...selectedToolNames] });
	}

	appendTtsrInjection(ruleNames: string[]): string {
		return this.#appendEntry({ type: "ttsr_injection", injectedRules: [...ruleNames] });
	}

	/** Labels an entry; an absent or empty label clears it. */
	appendLabelChange(targetId: string, label: string | undefined): string {
		return this.#append({}, () => native.appendLabel(this.#handle, targetId, label));
	}

	/** Moves the leaf to an entry: the next append becomes its child. */
	branch(branchFromId: string): void {
		native.branch(this.#handle, branchFromId);
	}

	/** Moves the leaf to before the first entry: the next append is a root. */
	resetLeaf(): void {
		native.resetLeaf(this.#handle);
	}

	/** Moves the leaf and appends there what the branch that was left held. */
	branchWithSummary(branchFromId: string | null, summary: string, details?: unknown, fromExtension?: boolean): string {
		const fields = { type: "branch_summary", fromId: branchFromId ?? "root", summary, details, fromExtension };
		const text = json(fields);
		if (branchFromId === null) native.resetLeaf(this.#handle);
		else native.branch(this.#handle, branchFromId);
		return this.#append(objectsOf(fields), () => native.appendEntry(this.#handle, text));
	}

	#appendEntry(fields: Record<string, unknown>): string {
		const text = json(fields);
		return this.#append(objectsOf(fields), () => native.appendEntry(this.#handle, text));
	}

	/** Appends, and remembers the objects that the entry was given with. */
	#append(given: Record<string, unknown>, append: () => string): string {
		let id: string;
		try {
			id = append();
		} catch (error) {
			throw this.#appendFailed(error, (failed) => this.#entries.give(failed, given));
		}
		this.#entries.give(id, given);
		this.#driver?.run();
		return id;
	}

	#appendFailed(error: unknown, give: (id: string) => void): unknown {
		const { code } = error as LeaflogError;
		if (code !== "INVALID_ARGUMENT" && code !== "ENTRY_NOT_FOUND") {
			// Every other failure is one of writing: the entry is there.
			const id = this.#entries.failedId();
			if (id !== undefined) give(id);
		}
		return this.#failed(error);
	}

	// Read

	getCwd(): string {
		return native.cwd(this.#handle);
	}

	getSessionDir(): string {
		return native.sessionDir(this.#handle);
	}

	getSessionId(): string {
		return native.sessionId(this.#handle);
	}

	/** The session's file, which need not exist yet; `undefined` when it is kept nowhere. */
	getSessionFile(): string | undefined {
		return native.sessionFile(this.#handle) ?? undefined;
	}

	getSessionName(): string | undefined {
		return native.title(this.#handle) ?? undefined;
	}

	get titleSource(): TitleSource | undefined {
		return (native.titleSource(this.#handle) as TitleSource | null) ?? undefined;
	}

	getHeader(): SessionHeader | null {
		const now = JSON.parse(native.header(this.#handle)) as SessionHeader;
		this.#header ??= now;
		for (const key of Object.keys(this.#header)) {
			if (!(key in now)) delete this.#header[key as keyof SessionHeader];
		}
		return Object.assign(this.#header, now);
	}

	/** All entries, without the header, in the order of the file. */
	getEntries(): SessionEntry[] {
		return this.#entries.all();
	}

	getEntry(id: string): SessionEntry | undefined {
		return this.#entries.get(id);
	}

	/** The entries that hang on one, in the order of the file. */
	getChildren(parentId: string): SessionEntry[] {
		return this.#entries.many(JSON.parse(native.children(this.#handle, parentId)) as number[]);
	}

	getLeafId(): string | null {
		return this.#entries.leaf()?.id ?? null;
	}

	getLeafEntry(): SessionEntry | undefined {
		return this.#entries.leaf();
	}

	/** The path from the root to an entry, by default the leaf. */
	getBranch(fromId?: string): SessionEntry[] {
		return this.#entries.many(JSON.parse(native.path(this.#handle, fromId)) as number[]);
	}

	/** The roots, each with what hangs on it. */
	getTree(): SessionTreeNode[] {
		const flat = JSON.parse(native.tree(this.#handle)) as number[];
		const labelled = JSON.parse(native.labels(this.#handle)) as { id: string; label: string }[];
		const labels = new Map(labelled.map(({ id, label }) => [id, label]));
		const entries = this.#entries.many(flat.filter((_, at) => at % 2 === 0));
		const roots: SessionTreeNode[] = [];
		// The nodes on the way down, and how many children each still waits for.
		const open: { children: SessionTreeNode[]; left: number }[] = [];
		entries.forEach((entry, at) => {
			const node: SessionTreeNode = { entry, children: [] };
			const label = labels.get(entry.id);
			if (label !== undefined) node.label = label;
			while (open.at(-1)?.left === 0) open.pop();
			const parent = open.at(-1);
			if (parent === undefined) {
				roots.push(node);
			} else {
				parent.children.push(node);
				parent.left--;
			}
			open.push({ children: node.children, left: flat[at * 2 + 1] as number });
		});
		return roots;
	}

	getLabel(id: string): string | undefined {
		return native.label(this.#handle, id) ?? undefined;
	}

	/** The role of the last model change on the leaf's path. */
	getLastModelChangeRole(): string | undefined {
		return native.lastModelChangeRole(this.#handle) ?? undefined;
	}

	/** The rules injected on the leaf's path. */
	getInjectedTtsrRules(): string[] {
		return (JSON.parse(native.context(this.#handle)) as ContextPlan).state.injectedTtsrRules;
	}

	/** What the model is sent from the leaf. Its messages are the entries' own objects. */
	buildSessionContext(): SessionContext {
		return this.#entries.context(JSON.parse(native.context(this.#handle)) as ContextPlan, buildMessage);
	}

	/** The sums over all branches: the same object, kept up to date, until another session is here. */
	getUsageStatistics(): UsageStatistics {
		const now = JSON.parse(native.usage(this.#handle)) as UsageStatistics;
		this.#usage = this.#usage === undefined ? now : Object.assign(this.#usage, now);
		return this.#usage;
	}

	/** What was noticed while reading the session. */
	getLoadReport(): LoadReport {
		return JSON.parse(native.report(this.#handle)) as LoadReport;
	}

	/** How far the session is on disk. */
	persistStatus(): PersistStatus {
		const { error, unsaved, lastSaved } = JSON.parse(native.persistStatus(this.#handle)) as {
			error: string | null;
			unsaved: number;
			lastSaved: string | null;
		};
		const status: PersistStatus = { unsaved };
		if (error !== null) status.error = this.#why(fromReason(error)) as Error;
		if (lastSaved !== null) status.lastSaved = lastSaved;
		return status;
	}

	// Blobs and artifacts

	/** Puts bytes into the blob store. */
	async putBlob(data: Uint8Array): Promise<BlobPutResult> {
		return new BlobStore(folders(this.#options).blobs).put(data);
	}

	/** The folder of the session's artifacts; `null` when it has no file, or one not named `.jsonl`. */
	getArtifactsDir(): string | null {
		const file = this.getSessionFile();
		return file === undefined ? null : native.artifactsDir(file);
	}

	/** The next artifact's id and path; neither when the session has no file. */
	async allocateArtifactPath(toolType: string): Promise<ArtifactPath> {
		const file = this.getSessionFile();
		if (file === undefined) return {};
		const [id, artifact] = native.artifactAllocate(file, toolType);
		return { id, path: artifact };
	}

	/** Saves an artifact and gives its id. Without a file it is kept in memory. */
	async saveArtifact(content: string, toolType: string): Promise<string | undefined> {
		return native.sessionSaveArtifact(this.#handle, Buffer.from(content), toolType);
	}

	/** The file of an artifact; `null` when there is none. */
	async getArtifactPath(id: string): Promise<string | null> {
		const file = this.getSessionFile();
		return file === undefined ? null : native.artifactPath(file, id);
	}

	// What the above share

	/** Calls what may fail to write. */
	#call<T>(call: () => T): T {
		try {
			return call();
		} catch (error) {
			throw this.#failed(error);
		} finally {
			this.#driver?.run();
		}
	}

	/** Calls what may write the file anew: that takes what was changed in place. */
	#write<T>(call: () => T): T {
		this.#entries.writeChanges();
		this.#started = false;
		return this.#call(call);
	}

	/** Calls what puts another session in this one's place. */
	#switch<T>(call: () => T): T {
		const before = this.#entries;
		before.detach();
		this.#driver?.clear();
		try {
			return this.#call(call);
		} finally {
			this.#forget();
			this.#entries = new Entries(this.#handle);
		}
	}

	/** Calls what puts a copy of this session in its place: the copy has the same objects. */
	#copy<T>(call: () => T): T {
		this.#entries.writeChanges();
		const before = this.#entries.handOver();
		this.#entries.detach();
		try {
			return this.#call(call);
		} finally {
			this.#forget();
			this.#entries = Entries.successor(this.#handle, before);
		}
	}

	/** Before the session may start. */
	#beforeStart(): void {
		this.#started = native.isStarted(this.#handle);
		// The first write is of everything.
		if (!this.#started) this.#entries.writeChanges();
	}

	#forget(): void {
		this.#started = false;
		this.#usage = undefined;
		this.#header = undefined;
	}

	/** Waits for a storage of the caller's own, and gives what it threw. */
	async #done(): Promise<void> {
		if (this.#driver === undefined) return;
		await this.#driver.idle();
		const { error } = this.persistStatus();
		if (error !== undefined) throw this.#failed(error);
	}

	#failed(error: unknown): unknown {
		this.#log();
		return this.#why(error);
	}

	/** A failure that a storage of the caller's own reported is its own error. */
	#why(error: unknown): unknown {
		const isLatched = error instanceof LeaflogError && error.code === "IO" && error.cause === undefined;
		return isLatched && this.#driver !== undefined ? this.#driver.cause(error) : error;
	}

	/** Tells the logger what there is to tell. */
	#log(): void {
		const logger: Logger | undefined = this.#options.logger;
		for (const line of native.takeLog(this.#handle)) logger?.error(line, { sessionFile: this.getSessionFile() });
	}
}

/** Waits for a storage of the caller's own to have what was opened. */
async function opened(manager: SessionManager, place: Backing): Promise<SessionManager> {
	if (place.driver !== undefined) {
		place.driver.run();
		await manager.flush();
	}
	return manager;
}

/** A session that another thread makes. */
async function made(make: (slot: SlotHandle) => Promise<void>): Promise<Handle> {
	const slot = native.slotNew();
	await make(slot);
	return native.slotTake(slot);
}

function json(value: unknown): string {
	const text = JSON.stringify(value) as string | undefined;
	if (text === undefined) {
		throw invalid(`${value === undefined ? "undefined" : `a ${typeof value}`} cannot be written as JSON`);
	}
	return text;
}

/** The fields that are objects: the entry has those very objects. */
function objectsOf(fields: Record<string, unknown>): Record<string, unknown> {
	return Object.fromEntries(Object.entries(fields).filter(([, value]) => typeof value === "object" && value !== null));
}

function withoutThinkingSignature(block: unknown): unknown {
	if ((block as { type?: unknown } | null)?.type !== "thinking") return block;
	const { thinkingSignature: _, ...rest } = block as Record<string, unknown>;
	return rest;
}
