import { Kinds } from "./entries";
import type {
	AgentMessage,
	BranchSummaryEntry,
	CompactionEntry,
	ContentBlock,
	CustomMessageEntry,
	MessageAttribution,
	ProviderPayload,
	SessionEntry,
} from "./types";

export interface CustomMessage<T = unknown> {
	role: "custom";
	customType: string;
	content: string | ContentBlock[];
	display: boolean;
	details?: T;
	attribution?: MessageAttribution;
	/** Milliseconds since 1970. */
	timestamp: number;
}

export interface BranchSummaryMessage {
	role: "branchSummary";
	summary: string;
	fromId: string;
	timestamp: number;
}

export interface CompactionSummaryMessage {
	role: "compactionSummary";
	summary: string;
	shortSummary?: string;
	tokensBefore: number;
	providerPayload?: ProviderPayload;
	timestamp: number;
}

/** The message an extension's entry gives. */
export function createCustomMessage<T = unknown>(
	customType: string,
	content: string | ContentBlock[],
	display: boolean,
	details: T | undefined,
	timestamp: string,
	attribution?: MessageAttribution,
): CustomMessage<T> {
	return { role: "custom", customType, content, display, details, attribution, timestamp: ms(timestamp) };
}

/** The message that stands for a branch that was left. */
export function createBranchSummaryMessage(summary: string, fromId: string, timestamp: string): BranchSummaryMessage {
	return { role: "branchSummary", summary, fromId, timestamp: ms(timestamp) };
}

/** The message that stands for what was compacted. */
export function createCompactionSummaryMessage(
	summary: string,
	tokensBefore: number,
	timestamp: string,
	shortSummary?: string,
	providerPayload?: ProviderPayload,
): CompactionSummaryMessage {
	return { role: "compactionSummary", summary, shortSummary, tokensBefore, providerPayload, timestamp: ms(timestamp) };
}

function ms(timestamp: string): number {
	return new Date(timestamp).getTime();
}

interface RemoteCompaction {
	provider: string;
	replacementHistory: unknown[];
}

/** The message of an entry that is none itself, but gives one. */
export function buildMessage(kind: number, entry: SessionEntry): AgentMessage {
	if (kind === Kinds.CUSTOM) {
		const { customType, content, display, details, timestamp, attribution } = entry as CustomMessageEntry;
		return createCustomMessage(customType, content, display, details, timestamp, attribution) as AgentMessage;
	}
	if (kind === Kinds.BRANCH_SUMMARY) {
		const { summary, fromId, timestamp } = entry as BranchSummaryEntry;
		return createBranchSummaryMessage(summary, fromId, timestamp) as unknown as AgentMessage;
	}
	const { summary, tokensBefore, timestamp, shortSummary, preserveData } = entry as CompactionEntry;
	let payload: ProviderPayload | undefined;
	if (kind === Kinds.REMOTE_COMPACTION) {
		const remote = preserveData?.openaiRemoteCompaction as RemoteCompaction;
		const items = remote.replacementHistory;
		payload = { type: "openaiResponsesHistory", provider: remote.provider, items } as ProviderPayload;
	}
	const message = createCompactionSummaryMessage(summary, tokensBefore, timestamp, shortSummary, payload);
	return message as unknown as AgentMessage;
}

/**
 * An assistant's message without a provider's own history and the signatures of its thinking: their keys
 * stay, with the value `undefined`. `undefined` for one that has no such history.
 */
export function withoutProviderHistory(message: AgentMessage): AgentMessage | undefined {
	const given = message as Record<string, unknown> | null | undefined;
	const payload = given?.providerPayload as { type?: unknown } | null | undefined;
	if (given?.role !== "assistant" || payload?.type !== "openaiResponsesHistory") return undefined;
	const { content } = given;
	const rest: Record<string, unknown> = { ...given, providerPayload: undefined };
	if (Array.isArray(content)) rest.content = content.map(withoutThinkingSignature);
	return rest as AgentMessage;
}

function withoutThinkingSignature(block: unknown): unknown {
	const { type, thinkingSignature } = (block ?? {}) as Record<string, unknown>;
	if (type !== "thinking" || thinkingSignature === undefined) return block;
	return { ...(block as object), thinkingSignature: undefined };
}
