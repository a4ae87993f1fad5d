//! Entry types and message roles.

/// Makes an enum of names with one more variant for names not listed.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u8)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// Any other name; the entry's text has it.
            Other,
        }

        impl $name {
            /// The variant of a name as stored.
            #[must_use]
            pub fn from_name(name: &str) -> Self {
                Self::from_bytes(name.as_bytes())
            }

            pub(crate) fn from_bytes(name: &[u8]) -> Self {
                match name {
                    $(name if name == $text.as_bytes() => Self::$variant,)+
                    _ => Self::Other,
                }
            }

            /// The name as stored; `None` for [`Self::Other`].
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($text),)+
                    Self::Other => None,
                }
            }
        }
    };
}

names! {
    /// The type of an entry (R8 and the further types of the agent).
    EntryKind {
        /// A message of the conversation, stored whole.
        Message = "message",
        /// The thinking level from here on.
        ThinkingLevelChange = "thinking_level_change",
        /// The model of a role from here on.
        ModelChange = "model_change",
        /// The service tier from here on.
        ServiceTierChange = "service_tier_change",
        /// Earlier messages replaced by a summary.
        Compaction = "compaction",
        /// What a branch left behind held.
        BranchSummary = "branch_summary",
        /// State of an extension, never sent to the model.
        Custom = "custom",
        /// A message of an extension, sent to the model.
        CustomMessage = "custom_message",
        /// A name for another entry, or its removal.
        Label = "label",
        /// Names of rules that were injected.
        TtsrInjection = "ttsr_injection",
        /// Names of the MCP tools selected from here on.
        McpToolSelection = "mcp_tool_selection",
        /// What a sub-agent was started with.
        SessionInit = "session_init",
        /// The mode from here on.
        ModeChange = "mode_change",
        /// The cloud context from here on.
        ContextChange = "context_change",
    }
}

names! {
    /// The role of a message.
    Role {
        /// What the person wrote.
        User = "user",
        /// What the model answered.
        Assistant = "assistant",
        /// What a tool gave back.
        ToolResult = "toolResult",
        /// A message of an extension.
        Custom = "custom",
        /// The name of [`Role::Custom`] before version 3.
        HookMessage = "hookMessage",
        /// A shell command the person ran.
        BashExecution = "bashExecution",
        /// Python code the person ran.
        PythonExecution = "pythonExecution",
        /// The summary of a branch left behind.
        BranchSummary = "branchSummary",
        /// The summary that replaces compacted messages.
        CompactionSummary = "compactionSummary",
        /// Files the person mentioned.
        FileMention = "fileMention",
        /// Instructions of the agent's developer.
        Developer = "developer",
    }
}
