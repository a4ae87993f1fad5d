// The C interface from C++17: handles that free themselves, errors that are thrown.
//
//     c++ -std=c++17 raii.cpp $(pkg-config --cflags --libs leaflog) -o raii && ./raii

#include <leaflog.h>

#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace leaflog {

class Error : public std::runtime_error {
  public:
    Error(leaflog_status status, const std::string &text, std::optional<std::string> entry_id)
        : std::runtime_error(text), status(status), entry_id(std::move(entry_id)) {}
    const leaflog_status status;
    // The entry that an append left in memory because it could not be written: it is not to be appended again.
    const std::optional<std::string> entry_id;
};

// Calls a function with a place for its error, and throws the error.
template <typename Call> void check(Call call) {
    leaflog_error *error = nullptr;
    const leaflog_status status = call(&error);
    if (status != LEAFLOG_STATUS_OK) {
        const std::string text = error != nullptr ? leaflog_error_text(error) : leaflog_status_name(status);
        const char *id = leaflog_error_entry_id(error);
        const auto entry_id = id != nullptr ? std::optional<std::string>(id) : std::nullopt;
        leaflog_error_free(error);
        throw Error(status, text, entry_id);
    }
}

inline leaflog_str str(std::string_view text) { return {text.data(), text.size()}; }

// Takes a text of the library.
inline std::optional<std::string> take(leaflog_string text) {
    if (text.data == nullptr) {
        return std::nullopt;
    }
    std::string copy(text.data, text.len);
    leaflog_string_free(&text);
    return copy;
}

class Session {
  public:
    static Session in_memory(std::string_view cwd) {
        leaflog_session *session = nullptr;
        check([&](auto error) { return leaflog_session_in_memory(str(cwd), nullptr, &session, error); });
        return Session(session);
    }

    std::string append(std::string_view message) {
        leaflog_id id;
        check([&](auto error) { return leaflog_session_append_message(get(), str(message), &id, error); });
        return id.text;
    }

    void branch(std::string_view id) {
        check([&](auto error) { return leaflog_session_branch(get(), str(id), error); });
    }

    std::string context() const {
        leaflog_string json{};
        check([&](auto error) {
            return leaflog_session_context_json(get(), LEAFLOG_FROM_LEAF, leaflog_cstr(nullptr), &json, error);
        });
        return take(json).value_or("");
    }

    leaflog_session *get() const { return handle.get(); }

  private:
    explicit Session(leaflog_session *session) : handle(session) {}
    struct Free {
        void operator()(leaflog_session *session) const { leaflog_session_free(session); }
    };
    std::unique_ptr<leaflog_session, Free> handle;
};

} // namespace leaflog

int main() {
    {
        auto session = leaflog::Session::in_memory("/home/ada/tides");
        const auto question = session.append(R"({"role":"user","content":"When is high water?"})");
        session.append(R"({"role":"assistant","content":"At noon."})");
        session.branch(question);
        session.append(R"({"role":"assistant","content":"At 12:04."})");
        std::cout << session.context() << '\n';
        try {
            session.branch("nobody");
            return 1;
        } catch (const leaflog::Error &error) {
            std::cout << leaflog_status_name(error.status) << ": " << error.what() << '\n';
        }
    }
    return leaflog_live_handles() == 0 ? 0 : 1;
}
