import * as path from "node:path";
import { BlobStore } from "./blob-store";
import { type LeaflogOptions, nativeOptions } from "./config";
import { type ListOptions, list, mostRecentOf } from "./discovery";
import type { CapturedEntries } from "./entries";
import { fromJson, invalid } from "./errors";
import { LiveSession, placeOf } from "./live-session";
import { withoutProviderHistory } from "./messages";
import { native, type StateHandle } from "./native";
import { SessionReader } from "./session-reader";
import type { SessionStorage } from "./storage";
import type {
	AgentMessage,
	ArtifactPath,
	BlobPutResult,
	ContentBlock,
	FileEntry,
	MessageAttribution,
	NewSessionOptions,
	PersistStatus,
	ServiceTier,
	SessionHeader,
	SessionInfo,
	SessionManagerStateSnapshot,
	SessionMessageEntry,
	TitleSource,
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
export class SessionManager extends SessionReader {
	readonly #live: LiveSession;

	private constructor(live: LiveSession) {
		if (!(live instanceof LiveSession))
			throw invalid("SessionManager.create, open, continueRecent and inMemory make a session");
		super(live);
		this.#live = live;
	}

	/** A new session of the project at `cwd`. Its folder is made; nothing is written before it starts. */
	static create(cwd: string, sessionDir?: string, storage?: SessionStorage, options?: LeaflogOptions): SessionManager {
		return new SessionManager(LiveSession.begin(native.create, cwd, placeOf(storage, options, sessionDir)));
	}

	/** A session that is kept nowhere. */
	static inMemory(cwd?: string, storage?: SessionStorage, options?: LeaflogOptions): SessionManager {
		const place = placeOf(storage, options, undefined);
		return new SessionManager(LiveSession.begin(native.inMemory, cwd ?? process.cwd(), place));
	}

	/**
	 * The session at `path`, of the project that its header names. A missing or empty file becomes a
	 * new session at that path, and so does a file that is not a session, which is copied beside it first.
	 * {@link SessionView.open} creates and changes nothing.
	 */
	static async open(
		filePath: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): Promise<SessionManager> {
		const place = placeOf(storage, options, sessionDir);
		return new SessionManager(
			await LiveSession.make(place, filePath, (slot) => native.open(slot, filePath, ...place.given)),
		);
	}

	/** A new session of the project at `cwd` with the history of another. */
	static async forkFrom(
		sourcePath: string,
		cwd: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): Promise<SessionManager> {
		const place = placeOf(storage, options, sessionDir);
		return new SessionManager(
			await LiveSession.make(place, sourcePath, (slot) => native.forkFrom(slot, sourcePath, cwd, ...place.given)),
		);
	}

	/**
	 * Goes on with the session that was used last in the project: the one that this terminal had, else
	 * the newest; one of a project that is gone only while the project has none of its own. Without one,
	 * a new session.
	 */
	static async continueRecent(
		cwd: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: LeaflogOptions,
	): Promise<SessionManager> {
		const place = placeOf(storage, options, sessionDir);
		if (place.driver === undefined) {
			return new SessionManager(
				await LiveSession.make(place, undefined, (slot) => native.continueRecent(slot, cwd, ...place.given)),
			);
		}
		const recent = await mostRecentOf(cwd, sessionDir, storage, options);
		const manager = SessionManager.create(cwd, sessionDir, storage, options);
		if (recent !== undefined) await manager.setSessionFile(recent);
		return manager;
	}

	/** The sessions of a project, the newest first. */
	static async list(
		cwd: string,
		sessionDir?: string,
		storage?: SessionStorage,
		options?: ListOptions,
	): Promise<SessionInfo[]> {
		if (typeof cwd !== "string") throw invalid("the folder of a project is a string");
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
		const place = placeOf(storage, agentDir === undefined ? options : { ...options, agentDir }, undefined);
		const dir = native.defaultSessionDir(cwd, ...place.given);
		place.driver?.run();
		return dir;
	}

	// Life

	/** Goes on with the session at `path`; project and folder stay. */
	setSessionFile(sessionFile: string): Promise<void> {
		return this.#live.leave(
			() => this.#live.switch(() => native.setSessionFile(this.#live.handle, sessionFile)),
			(driver) => driver.load(path.resolve(sessionFile)),
		);
	}

	/** Begins a new session of the project, and gives its file. */
	newSession(options?: NewSessionOptions): Promise<string | undefined> {
		return this.#live.leave(
			() => this.#live.switch(() => native.newSession(this.#live.handle, options?.parentSession)) ?? undefined,
		);
	}

	/** Goes on in a copy of the session with an id of its own. Its artifacts are copied. */
	fork(): Promise<{ oldSessionFile: string; newSessionFile: string } | undefined> {
		return this.#live.leave(() => {
			const files = this.#live.copy(() => native.fork(this.#live.handle));
			return files === null ? undefined : { oldSessionFile: files[0], newSessionFile: files[1] };
		});
	}

	/** Moves the session, file and artifacts, to another project. */
	moveTo(newCwd: string): Promise<void> {
		return this.#live.step(
			() => this.#live.write(() => native.moveTo(this.#live.handle, newCwd)),
			(driver) => {
				const dir = native.dirAfterMove(this.#live.handle, newCwd);
				return driver.look(...this.#files().flatMap((file) => [file, path.join(dir, path.basename(file))]));
			},
		);
	}

	/**
	 * Goes on in a session of its own that has only the path from the root to `leafId`. Gives its
	 * file; `undefined` when the session is kept nowhere.
	 */
	createBranchedSession(leafId: string): string | undefined {
		const file = this.#live.patient(() =>
			this.#live.copy(() => native.createBranchedSession(this.#live.handle, leafId)),
		);
		return file ?? undefined;
	}

	/** What the manager holds now. */
	captureState(): SessionManagerStateSnapshot {
		const live = this.#live;
		let entries: CapturedEntries;
		let state: StateHandle;
		do {
			entries = live.entries.capture();
			state = native.captureState(live.handle);
			// A flush on another thread may have met a file that was replaced.
		} while (!live.entries.isAsCaptured(entries));
		let fileEntries: FileEntry[] | undefined;
		const snapshot: Snapshot = {
			sessionId: this.getSessionId(),
			sessionFile: this.getSessionFile(),
			sessionName: this.getSessionName(),
			titleSource: this.titleSource,
			get fileEntries() {
				if (fileEntries === undefined) {
					const view = native.stateView(state);
					fileEntries = [fromJson<SessionHeader>(native.header(view)), ...live.entries.captured(entries, view)];
				}
				return fileEntries;
			},
			entries,
			state,
			sanitized: live.sanitized,
		};
		return snapshot;
	}

	/** Goes back to what the manager held. */
	restoreState(snapshot: SessionManagerStateSnapshot): void {
		const { state, entries, sanitized } = (snapshot ?? {}) as Snapshot;
		if (state === undefined) throw invalid("restoreState takes what captureState gave");
		this.#live.restore(state, entries, sanitized);
	}

	/** The session is kept somewhere. */
	isPersisted(): boolean {
		return native.isPersisted(this.#live.handle);
	}

	/** Writes the session even though it has not started. After a failure, the way to try again. */
	ensureOnDisk(): Promise<void> {
		return this.#live.step(
			() => this.#live.write(() => native.ensureOnDisk(this.#live.handle)),
			async (driver) => {
				await driver.look(...this.#files());
				driver.clear();
			},
		);
	}

	/** Waits until everything appended would survive a power cut. */
	flush(): Promise<void> {
		return this.#live.flush();
	}

	/** {@link SessionManager.flush}, at once. Not with a storage of the caller's own. */
	flushSync(): void {
		this.#needsNoPromise("flushSync");
		this.#live.patient(() => this.#live.call(() => native.flushNow(this.#live.handle)));
	}

	/** Flushes and closes the file. The next append opens it again; entries can be read all the same. */
	close(): Promise<void> {
		return this.#live.leave(() => this.#live.call(() => native.close(this.#live.handle)));
	}

	/** {@link SessionManager.close}, at once. Not with a storage of the caller's own. */
	closeSync(): void {
		this.#needsNoPromise("closeSync");
		this.#live.patient(() => this.#live.call(() => native.close(this.#live.handle)));
	}

	/** {@link SessionManager.closeSync}, and lets go of the file: nobody will read from it any more. */
	[dispose](): void {
		this.closeSync();
		native.release(this.#live.handle);
	}

	async [asyncDispose](): Promise<void> {
		await this.close();
		native.release(this.#live.handle);
	}

	#needsNoPromise(method: string): void {
		if (this.#live.driver !== undefined) throw invalid(`${method} cannot wait for a storage that gives promises`);
	}

	/** The session's file, when it has one. */
	#files(): string[] {
		const file = this.getSessionFile();
		return file === undefined ? [] : [file];
	}

	/** Writes the file anew, with the entries that were changed in place. */
	rewriteEntries(): Promise<void> {
		return this.#live.step(() => this.#live.write(() => native.rewriteEntries(this.#live.handle)));
	}

	/**
	 * Takes a provider's own history, and the signatures of its thinking, out of assistant messages:
	 * both belong to a connection that is gone. The file keeps them. Says whether there was any.
	 */
	sanitizeLoadedOpenAIResponsesReplayMetadata(): boolean {
		// From here on an object without them says what is stored, and is not written for that.
		let found = native.showAsLoaded(this.#live.handle);
		// What was not touched yet comes without from where it is read.
		for (const entry of this.#live.entries.touched()) {
			const message = entry.type === "message" ? withoutProviderHistory(entry.message) : undefined;
			if (message === undefined) continue;
			(entry as SessionMessageEntry).message = message;
			found = true;
		}
		if (found) this.#live.sanitized++;
		return found;
	}

	/** Gives the session a name; says whether it was taken. An `auto` name never replaces a `user` name. */
	setSessionName(name: string, source: TitleSource = "auto"): Promise<boolean> {
		return this.#live.step(
			() => this.#live.write(() => native.setSessionName(this.#live.handle, name, source === "user")),
			(driver) => driver.look(...this.#files()),
		);
	}

	// Append

	appendMessage(message: AgentMessage): string {
		return this.#live.appendMessage(message);
	}

	appendThinkingLevelChange(thinkingLevel?: string | null): string {
		return this.#live.append({ type: "thinking_level_change", thinkingLevel: thinkingLevel ?? null });
	}

	appendServiceTierChange(serviceTier: ServiceTier | null): string {
		return this.#live.append({ type: "service_tier_change", serviceTier: serviceTier ?? null });
	}

	appendModeChange(mode: string, data?: Record<string, unknown>): string {
		return this.#live.append({ type: "mode_change", mode, data });
	}

	appendContextChange(contextName: string, tenant: string, namespace: string): string {
		return this.#live.append({ type: "context_change", contextName, tenant, namespace });
	}

	appendModelChange(model: string, role?: string): string {
		return this.#live.append({ type: "model_change", model, role });
	}

	appendSessionInit(init: { systemPrompt: string; task: string; tools: string[]; outputSchema?: unknown }): string {
		return this.#live.append({ type: "session_init", ...init });
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
		return this.#live.append({
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
		return this.#live.append({ type: "custom", customType, data });
	}

	appendCustomMessageEntry<T = unknown>(
		customType: string,
		content: string | ContentBlock[],
		display: boolean,
		details?: T,
		attribution: MessageAttribution = "agent" as MessageAttribution,
	): string {
		return this.#live.append({ type: "custom_message", customType, content, display, details, attribution });
	}

	appendMCPToolSelection(selectedToolNames: string[]): string {
		return this.#live.append({ type: "mcp_tool_selection", selectedToolNames: [...selectedToolNames] });
	}

	appendTtsrInjection(ruleNames: string[]): string {
		return this.#live.append({ type: "ttsr_injection", injectedRules: [...ruleNames] });
	}

	/** Labels an entry; an absent or empty label clears it. */
	appendLabelChange(targetId: string, label: string | undefined): string {
		return this.#live.append({ type: "label", targetId, label });
	}

	/** Moves the leaf to an entry: the next append becomes its child. */
	branch(branchFromId: string): void {
		native.branch(this.#live.handle, branchFromId);
	}

	/** Moves the leaf to before the first entry: the next append is a root. */
	resetLeaf(): void {
		native.resetLeaf(this.#live.handle);
	}

	/** Moves the leaf and appends there what the branch that was left held. */
	branchWithSummary(branchFromId: string | null, summary: string, details?: unknown, fromExtension?: boolean): string {
		const fields = { type: "branch_summary", fromId: branchFromId ?? "root", summary, details, fromExtension };
		return this.#live.append(fields, () => {
			if (branchFromId === null) native.resetLeaf(this.#live.handle);
			else native.branch(this.#live.handle, branchFromId);
		});
	}

	// Read

	getCwd(): string {
		return native.cwd(this.#live.handle);
	}

	getSessionDir(): string {
		return native.sessionDir(this.#live.handle);
	}

	getSessionId(): string {
		return native.sessionId(this.#live.handle);
	}

	/** The session's file, which need not exist yet; `undefined` when it is kept nowhere. */
	getSessionFile(): string | undefined {
		return this.#live.file;
	}

	/** The role of the last model change on the leaf's path. */
	getLastModelChangeRole(): string | undefined {
		return native.lastModelChangeRole(this.#live.handle) ?? undefined;
	}

	/** How far the session is on disk. */
	persistStatus(): PersistStatus {
		return this.#live.persistStatus;
	}

	// Blobs and artifacts

	/** Puts bytes into the blob store. */
	async putBlob(data: Uint8Array): Promise<BlobPutResult> {
		return new BlobStore(native.blobsDir(nativeOptions(this.#live.options, undefined))).put(data);
	}

	/** The folder of the session's artifacts; `null` when it has no file, or one not named `.jsonl`. */
	getArtifactsDir(): string | null {
		const file = this.getSessionFile();
		return file === undefined ? null : native.artifactsDir(file);
	}

	/** The next artifact's id and path; neither when the session has no file. */
	async allocateArtifactPath(toolType: string): Promise<ArtifactPath> {
		const [id, file] = native.sessionAllocateArtifact(this.#live.handle, toolType) ?? [];
		return id === undefined ? {} : { id, path: file };
	}

	/** Saves an artifact and gives its id. Without a file it is kept in memory. */
	async saveArtifact(content: string, toolType: string): Promise<string | undefined> {
		return native.sessionSaveArtifact(this.#live.handle, Buffer.from(content), toolType);
	}

	/** The file of an artifact; `null` when there is none. */
	async getArtifactPath(id: string): Promise<string | null> {
		return native.sessionArtifactPath(this.#live.handle, id);
	}
}
