/**
 * Where an application says what its messages are:
 *
 * ```ts
 * declare module "leaflog" {
 *   interface Register {
 *     AgentMessage: MyMessage;
 *   }
 * }
 * ```
 */
// biome-ignore lint/suspicious/noEmptyInterface: applications add to it
export interface Register {}

type Registered<Name extends string, Default> = Register extends Record<Name, infer Type> ? Type : Default;

/** A message of a conversation; `role` says of which kind. */
export type AgentMessage = Registered<
	"AgentMessage",
	{
		role: string;
		// biome-ignore lint/suspicious/noExplicitAny: messages are the application's
		[key: string]: any;
	}
>;
export type ServiceTier = Registered<"ServiceTier", string>;
export type MessageAttribution = Registered<"MessageAttribution", "user" | "agent">;
/** A block of a message's content. */
export type ContentBlock = Registered<
	"ContentBlock",
	{ type: "text"; text: string } | { type: "image"; data: string; mimeType: string }
>;
export type ProviderPayload = Registered<"ProviderPayload", { type: string; provider?: string; items: unknown[] }>;

/** Who gave a session its name. */
export type TitleSource = "auto" | "user";

export interface SessionHeader {
	type: "session";
	/** Absent: version 1. */
	version?: number;
	id: string;
	title?: string;
	titleSource?: TitleSource;
	timestamp: string;
	cwd: string;
	/** Id or path of the session this one comes from. */
	parentSession?: string;
}

export interface NewSessionOptions {
	parentSession?: string;
}

export interface SessionEntryBase {
	type: string;
	id: string;
	/** `null` at a root. */
	parentId: string | null;
	timestamp: string;
}

export interface SessionMessageEntry extends SessionEntryBase {
	type: "message";
	message: AgentMessage;
}

export interface ThinkingLevelChangeEntry extends SessionEntryBase {
	type: "thinking_level_change";
	thinkingLevel?: string | null;
}

export interface ModelChangeEntry extends SessionEntryBase {
	type: "model_change";
	/** `provider/id` */
	model: string;
	/** Absent: `default`. */
	role?: string;
}

export interface ServiceTierChangeEntry extends SessionEntryBase {
	type: "service_tier_change";
	serviceTier: ServiceTier | null;
}

export interface CompactionEntry<T = unknown> extends SessionEntryBase {
	type: "compaction";
	summary: string;
	shortSummary?: string;
	/** The first entry on the path that stays. */
	firstKeptEntryId: string;
	tokensBefore: number;
	/** Data of the extension that made it. */
	details?: T;
	/** Data handed on across compactions. */
	preserveData?: Record<string, unknown>;
	fromExtension?: boolean;
}

export interface BranchSummaryEntry<T = unknown> extends SessionEntryBase {
	type: "branch_summary";
	/** The entry the branch starts from, or `root`. */
	fromId: string;
	summary: string;
	/** Data of the extension that made it; not sent to the model. */
	details?: T;
	fromExtension?: boolean;
}

/** State of an extension; not sent to the model. */
export interface CustomEntry<T = unknown> extends SessionEntryBase {
	type: "custom";
	customType: string;
	data?: T;
}

/** A message of an extension; sent to the model. */
export interface CustomMessageEntry<T = unknown> extends SessionEntryBase {
	type: "custom_message";
	customType: string;
	content: string | ContentBlock[];
	/** Not sent to the model. */
	details?: T;
	/** Whether a person sees it. */
	display: boolean;
	attribution?: MessageAttribution;
}

export interface LabelEntry extends SessionEntryBase {
	type: "label";
	targetId: string;
	/** Absent: the label is cleared. */
	label: string | undefined;
}

export interface TtsrInjectionEntry extends SessionEntryBase {
	type: "ttsr_injection";
	injectedRules: string[];
}

export interface MCPToolSelectionEntry extends SessionEntryBase {
	type: "mcp_tool_selection";
	selectedToolNames: string[];
}

export interface SessionInitEntry extends SessionEntryBase {
	type: "session_init";
	systemPrompt: string;
	task: string;
	tools: string[];
	outputSchema?: unknown;
}

export interface ModeChangeEntry extends SessionEntryBase {
	type: "mode_change";
	/** `none`: back to no mode. */
	mode: string;
	data?: Record<string, unknown>;
}

export interface ContextChangeEntry extends SessionEntryBase {
	type: "context_change";
	contextName: string;
	tenant: string;
	namespace: string;
}

/** An entry of a session: every line but the header. */
export type SessionEntry =
	| SessionMessageEntry
	| ThinkingLevelChangeEntry
	| ModelChangeEntry
	| ServiceTierChangeEntry
	| CompactionEntry
	| BranchSummaryEntry
	| CustomEntry
	| CustomMessageEntry
	| LabelEntry
	| TtsrInjectionEntry
	| MCPToolSelectionEntry
	| SessionInitEntry
	| ModeChangeEntry
	| ContextChangeEntry;

export type FileEntry = SessionHeader | SessionEntry;

export interface SessionTreeNode {
	entry: SessionEntry;
	/** The oldest first. */
	children: SessionTreeNode[];
	/** The label in force. */
	label?: string;
}

/** What the model is sent, and the state along the path. */
export interface SessionContext {
	messages: AgentMessage[];
	thinkingLevel?: string;
	serviceTier?: ServiceTier;
	/** The model of each role, as `provider/id`. */
	models: Record<string, string>;
	injectedTtsrRules: string[];
	selectedMCPToolNames: string[];
	hasPersistedMCPToolSelection: boolean;
	activeContextName?: string;
	activeContextTenant?: string;
	/** `none` when no mode is active. */
	mode: string;
	modeData?: Record<string, unknown>;
}

export interface UsageStatistics {
	input: number;
	output: number;
	cacheRead: number;
	cacheWrite: number;
	premiumRequests: number;
	cost: number;
}

export interface SessionInfo {
	path: string;
	id: string;
	/** Empty when the header has none. */
	cwd: string;
	title?: string;
	parentSessionPath?: string;
	created: Date;
	modified: Date;
	messageCount: number;
	/** The first text of a user that is not blank, else the session's task, else the first custom message. */
	firstMessage: string;
	allMessagesText: string;
	/**
	 * The session is another project's, whose directory does not exist any longer; it is listed since the two projects
	 * share a session directory.
	 */
	projectGone?: true;
}

/** What {@link SessionManager.captureState} gives. */
export interface SessionManagerStateSnapshot {
	readonly sessionId: string;
	readonly sessionFile: string | undefined;
	readonly sessionName: string | undefined;
	readonly titleSource: TitleSource | undefined;
	/** The header, then the entries of that moment. They are made when they are first read. */
	readonly fileEntries: FileEntry[];
}

/** What was noticed while reading a session. Lines are counted from 1. */
export interface LoadReport {
	skippedLines: { line: number; reason: "invalid" | "torn" | "not-an-entry" }[];
	trailingText: { line: number; bytes: number }[];
	/** Text in front of an entry or a header on the same line. */
	fragments: { line: number; bytes: number }[];
	/** Values that go over several lines. */
	spreadValues: { line: number; lines: number }[];
	duplicateIds: { id: string; lines: number[] }[];
	entriesWithoutId: number[];
	/** `instead`: what the entry hangs on when damage to the file explains what is missing. */
	missingParents: { id: string; line: number; parentId: string; instead?: string }[];
	cycles: string[][];
	emptyCompactions: { id: string; line: number; firstKeptEntryId: string | null }[];
	missingBlobs: { hash: string; line: number }[];
	newerVersion: number | null;
	setAsideFile: string | null;
}

/** How far a session is on disk. */
export interface PersistStatus {
	/** The failure that stays in force until `ensureOnDisk()`. */
	error?: Error;
	/** Entries in memory that are not on disk. */
	unsaved: number;
	/** The id of the last entry of this process that is on disk. */
	lastSaved?: string;
}

export interface ArtifactPath {
	id?: string;
	path?: string;
}

export interface BlobPutResult {
	hash: string;
	path: string;
	get ref(): string;
}

/** A shorter name for what most code needs of a session. */
export type { ReadonlySessionManager } from "./session-manager";
