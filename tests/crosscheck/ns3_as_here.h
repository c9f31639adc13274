// What ns-3.37 does otherwise than this simulator, done as here. The cross-check runs ns-3 as it is; an experiment
// (`[[experiment]]` in explained.toml) swaps one of these in, to show what a difference comes from.

#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"

#include <algorithm>
#include <cstdint>

// RFC 5681 §3.1: congestion avoidance counts acknowledged bytes, a segment for each window of them.
class AckedBytes {
  public:
    // Whether the window grows by a segment.
    bool Count(uint32_t acked, uint32_t window) {
        m_acked += acked;
        if (m_acked < window) {
            return false;
        }
        m_acked -= window;
        return true;
    }

    // The progress keeps its proportion when a mark shrinks the window.
    void Shrink(uint32_t from, uint32_t to) { m_acked = static_cast<uint32_t>(uint64_t{m_acked} * to / from); }

  private:
    uint32_t m_acked = 0;
};

// ns-3's NewReno grows by ACKs, of which a delayed one is worth two.
class CountingReno : public ns3::TcpNewReno {
  public:
    static ns3::TypeId GetTypeId() {
        static ns3::TypeId id = ns3::TypeId("CountingReno").SetParent<TcpNewReno>().AddConstructor<CountingReno>();
        return id;
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<CountingReno>(this); }

  protected:
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segments) override {
        if (m_bytes.Count(segments * state->m_segmentSize, state->m_cWnd)) {
            state->m_cWnd += state->m_segmentSize;
        }
    }

  private:
    AckedBytes m_bytes;
};

// ns-3's DCTCP with any of three things changed.
class DctcpAsHere : public ns3::TcpDctcp {
  public:
    static ns3::TypeId GetTypeId() {
        using namespace ns3;
        static TypeId id =
            TypeId("DctcpAsHere")
                .SetParent<TcpDctcp>()
                .AddConstructor<DctcpAsHere>()
                // As in Linux (dctcp_ssthresh). ns-3's window falls below one segment; then nothing is sent until the timer fires.
                .AddAttribute("Floor", "A mark leaves two segments at least", BooleanValue(false),
                              MakeBooleanAccessor(&DctcpAsHere::m_floor), MakeBooleanChecker())
                // RFC 8257 §3.2. ns-3's ACK leaves out what waits, and starts the delay anew.
                .AddAttribute("Echo", "The ACK before a change of the mark covers what waits for a delayed ACK",
                              BooleanValue(false), MakeBooleanAccessor(&DctcpAsHere::m_echo), MakeBooleanChecker())
                // ns-3 counts whole segments of a window rounded down, and keeps the count when the window shrinks.
                .AddAttribute("Growth", "Congestion avoidance counts bytes, in proportion", BooleanValue(false),
                              MakeBooleanAccessor(&DctcpAsHere::m_growth), MakeBooleanChecker());
        return id;
    }

    ns3::Ptr<ns3::TcpCongestionOps> Fork() override { return ns3::CopyObject<DctcpAsHere>(this); }

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> state, uint32_t inFlight) override {
        uint32_t reduced = TcpDctcp::GetSsThresh(state, inFlight);
        uint32_t window = m_floor ? std::max(reduced, 2 * state->m_segmentSize) : reduced;
        m_bytes.Shrink(state->m_cWnd, window);
        return window;
    }

    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> state, const ns3::TcpSocketState::TcpCAEvent_t event) override {
        using ns3::TcpSocketState;
        if (!m_echo) {
            TcpDctcp::CwndEvent(state, event);
            return;
        }
        switch (event) {
        case TcpSocketState::CA_EVENT_ECN_IS_CE:
        case TcpSocketState::CA_EVENT_ECN_NO_CE:
            Arrived(state, event == TcpSocketState::CA_EVENT_ECN_IS_CE);
            break;
        case TcpSocketState::CA_EVENT_DELAYED_ACK:
            m_waits = true;
            break;
        case TcpSocketState::CA_EVENT_NON_DELAYED_ACK:
            m_waits = false;
            break;
        default:
            break;
        }
    }

  protected:
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> state, uint32_t segments) override {
        if (!m_growth) {
            TcpDctcp::CongestionAvoidance(state, segments);
        } else if (m_bytes.Count(segments * state->m_segmentSize, state->m_cWnd)) {
            state->m_cWnd += state->m_segmentSize;
        }
    }

  private:
    // A packet is here, and not yet in the receive buffer.
    void Arrived(ns3::Ptr<ns3::TcpSocketState> state, bool marked) {
        if (marked != m_marked && m_waits) {
            state->m_sendEmptyPacketCallback(ns3::TcpHeader::ACK | (m_marked ? ns3::TcpHeader::ECE : 0));
            m_waits = false;
        }
        m_marked = marked;
        state->m_ecnState = marked ? ns3::TcpSocketState::ECN_CE_RCVD : ns3::TcpSocketState::ECN_IDLE;
    }

    bool m_floor = false, m_echo = false, m_growth = false;
    bool m_marked = false, m_waits = false;
    AckedBytes m_bytes;
};

// In the round trip after a mark, too, ACKs without an echo let the window grow (RFC 3168 §6.1.2 stops it for ACKs with one).
class GrowingRecovery : public ns3::TcpClassicRecovery {
  public:
    static ns3::TypeId GetTypeId() {
        static ns3::TypeId id =
            ns3::TypeId("GrowingRecovery").SetParent<TcpClassicRecovery>().AddConstructor<GrowingRecovery>();
        return id;
    }

    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override { return ns3::CopyObject<GrowingRecovery>(this); }

    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> state, uint32_t delivered) override {
        TcpClassicRecovery::DoRecovery(state, delivered);
        bool marked = state->m_congState == ns3::TcpSocketState::CA_CWR;
        bool echo = state->m_ecnState == ns3::TcpSocketState::ECN_ECE_RCVD;
        if (marked && !echo && m_bytes.Count(delivered, state->m_cWnd)) {
            state->m_cWnd += state->m_segmentSize;
            // The window after this round trip.
            state->m_ssThresh += state->m_segmentSize;
        }
    }

  private:
    AckedBytes m_bytes;
};
