-- Wireshark dissector of the packets that Anabranch's simulator captures of transports without a standard header: NDP, SCDP and
-- others. What the bytes mean is in docs/reference/results.md; how to install this file, in docs/how-to/capture-packets.md.

local anabranch = Proto("anabranch", "Anabranch simulated transport")

local PROTOCOLS = { [0] = "other", [1] = "NDP", [2] = "SCDP" }
local DATA, ACK, NACK, PULL, GIVEN_UP, CONTROL = 1, 2, 3, 4, 5, 6
local KINDS = {
  [DATA] = "data", [ACK] = "ACK", [NACK] = "NACK", [PULL] = "pull", [GIVEN_UP] = "given up", [CONTROL] = "control",
}
local MODES = { [0] = "unicast", [1] = "one-to-many", [2] = "many-to-one" }
local NDP, SCDP = 1, 2
local LENGTH = 36
local ENDLESS = UInt64.new(0xffffffff, 0xffff)

local f = {
  protocol = ProtoField.uint8("anabranch.protocol", "Protocol", base.DEC, PROTOCOLS, 0xf0),
  kind = ProtoField.uint8("anabranch.kind", "Kind", base.DEC, KINDS, 0x0f),
  trimmed = ProtoField.bool("anabranch.trimmed", "Trimmed header", 8, nil, 0x80),
  returned = ProtoField.bool("anabranch.returned", "Returned to its sender", 8, nil, 0x40),
  control = ProtoField.bool("anabranch.control", "Control packet", 8, nil, 0x20),
  pushed = ProtoField.bool("anabranch.pushed", "Pushed: of an initial window", 8, nil, 0x10),
  multicast = ProtoField.bool("anabranch.multicast", "Multicast", 8, nil, 0x08),
  priority = ProtoField.uint8("anabranch.priority", "Priority (0 highest)", base.DEC, nil, 0x07),
  payload = ProtoField.uint16("anabranch.payload", "Payload before trimming [bytes]"),
  session = ProtoField.uint32("anabranch.session", "Session"),
  path = ProtoField.uint32("anabranch.path", "Path", base.HEX),
  -- NDP
  ndp_last = ProtoField.bool("anabranch.ndp.last", "Last packet of the object", 8, nil, 0x01),
  ndp_syn = ProtoField.bool("anabranch.ndp.syn", "SYN: no reply of the receiver yet", 8, nil, 0x02),
  ndp_awaits = ProtoField.bool("anabranch.ndp.awaits_window", "Packets of the initial window are still expected", 8, nil, 0x01),
  ndp_seq = ProtoField.uint64("anabranch.ndp.seq", "Packet"),
  ndp_answers = ProtoField.uint32("anabranch.ndp.answers", "Answers pull (0: nobody asked)"),
  ndp_object = ProtoField.uint64("anabranch.ndp.object", "Object [bytes]"),
  ndp_sent = ProtoField.uint32("anabranch.ndp.sent", "Sent at [65.536 ns]"),
  ndp_burst = ProtoField.uint16("anabranch.ndp.burst", "Packets of the initial window"),
  ndp_below = ProtoField.uint64("anabranch.ndp.below", "Every packet below this one has arrived"),
  ndp_pull = ProtoField.uint64("anabranch.ndp.pull", "Pull"),
  ndp_void = ProtoField.uint64("anabranch.ndp.void", "Pulls up to this one are void"),
  -- SCDP
  scdp_syn = ProtoField.bool("anabranch.scdp.syn", "SYN: of the initial window", 8, nil, 0x01),
  scdp_mode = ProtoField.uint8("anabranch.scdp.mode", "Mode", base.DEC, MODES, 0x06),
  scdp_block = ProtoField.uint32("anabranch.scdp.block", "Source block (SBN)"),
  scdp_esi = ProtoField.uint24("anabranch.scdp.esi", "Encoding symbol (ESI)"),
  scdp_index = ProtoField.uint24("anabranch.scdp.index", "Symbols of the block that its sender emitted before"),
  scdp_object = ProtoField.uint64("anabranch.scdp.object", "Object [bytes]"),
  scdp_symbols = ProtoField.uint16("anabranch.scdp.block_symbols", "Symbols of a block at most"),
  scdp_window = ProtoField.uint16("anabranch.scdp.window", "Initial window [symbols]"),
  scdp_senders = ProtoField.uint8("anabranch.scdp.senders", "Senders"),
  scdp_fin = ProtoField.bool("anabranch.scdp.fin", "FIN: the symbol asked for is the last one needed", 8, nil, 0x01),
  scdp_retry = ProtoField.bool("anabranch.scdp.retry", "Repeated after silence", 8, nil, 0x02),
  scdp_done = ProtoField.bool("anabranch.scdp.done", "The receiver has everything", 8, nil, 0x04),
  scdp_upto = ProtoField.uint32("anabranch.scdp.upto", "Symbols of the block to be emitted in all"),
  scdp_base = ProtoField.uint32("anabranch.scdp.base", "All blocks before this one are complete"),
}
anabranch.fields = f

-- Adds fields one after the other: { field, bytes } each.
local function add(tree, buffer, at, list)
  for _, item in ipairs(list) do
    tree:add(item[1], buffer(at, item[2]))
    at = at + item[2]
  end
end

local function object(buffer, at)
  local bytes = buffer(at, 6):uint64()
  return bytes == ENDLESS and "endless" or tostring(bytes) .. " B"
end

local function ndp(buffer, tree, kind, own)
  if kind == DATA then
    tree:add(f.ndp_last, own)
    tree:add(f.ndp_syn, own)
    add(tree, buffer, 15, { { f.ndp_seq, 5 }, { f.ndp_answers, 4 }, { f.ndp_object, 6 }, { f.ndp_sent, 4 }, { f.ndp_burst, 2 } })
    return string.format("packet %s of an object of %s", buffer(15, 5):uint64(), object(buffer, 24))
  elseif kind == ACK then
    add(tree, buffer, 15, { { f.ndp_seq, 5 }, { f.ndp_below, 5 }, { f.ndp_sent, 4 } })
    return string.format("packet %s, all below %s", buffer(15, 5):uint64(), buffer(20, 5):uint64())
  elseif kind == NACK then
    add(tree, buffer, 15, { { f.ndp_seq, 5 }, { f.ndp_below, 5 } })
    return string.format("packet %s, all below %s", buffer(15, 5):uint64(), buffer(20, 5):uint64())
  elseif kind == PULL then
    tree:add(f.ndp_awaits, own)
    add(tree, buffer, 15, { { f.ndp_pull, 5 }, { f.ndp_void, 5 }, { f.ndp_below, 5 } })
    return string.format("number %s, all packets below %s", buffer(15, 5):uint64(), buffer(25, 5):uint64())
  end
end

local function scdp(buffer, tree, kind, own)
  if kind == DATA then
    tree:add(f.scdp_syn, own)
    tree:add(f.scdp_mode, own)
    add(tree, buffer, 15, {
      { f.scdp_block, 4 }, { f.scdp_esi, 3 }, { f.scdp_index, 3 }, { f.scdp_object, 6 }, { f.scdp_symbols, 2 },
      { f.scdp_window, 2 }, { f.scdp_senders, 1 },
    })
    return string.format("block %d, symbol %d of an object of %s", buffer(15, 4):uint(), buffer(19, 3):uint(), object(buffer, 25))
  elseif kind == PULL then
    tree:add(f.scdp_fin, own)
    tree:add(f.scdp_retry, own)
    tree:add(f.scdp_done, own)
    add(tree, buffer, 15, { { f.scdp_block, 4 }, { f.scdp_upto, 4 }, { f.scdp_base, 4 } })
    return string.format("block %d, up to symbol %d", buffer(15, 4):uint(), buffer(19, 4):uint())
  end
end

local function is_ours(buffer)
  return buffer:len() >= LENGTH and buffer(0, 2):string() == "AB" and PROTOCOLS[buffer(2, 1):bitfield(0, 4)] ~= nil
end

function anabranch.dissector(buffer, pinfo, root)
  if not is_ours(buffer) then
    return 0
  end
  local protocol, kind = buffer(2, 1):bitfield(0, 4), buffer(2, 1):bitfield(4, 4)
  local own, shared = buffer(3, 1), buffer(4, 1)
  local trimmed = shared:bitfield(0, 1) == 1
  local name = protocol == 0 and "Simulated" or PROTOCOLS[protocol]
  pinfo.cols.protocol = name
  local tree = root:add(anabranch, buffer(0, LENGTH), name .. " (simulated)")
  tree:add(f.protocol, buffer(2, 1))
  tree:add(f.kind, buffer(2, 1))
  for _, field in ipairs({ f.trimmed, f.returned, f.control, f.pushed, f.multicast, f.priority }) do
    tree:add(field, shared)
  end
  add(tree, buffer, 5, { { f.payload, 2 }, { f.session, 4 }, { f.path, 4 } })
  local told
  if protocol == NDP then
    told = ndp(buffer, tree, kind, own)
  elseif protocol == SCDP then
    told = scdp(buffer, tree, kind, own)
  end
  local what = KINDS[kind] or ("kind " .. kind)
  if protocol == SCDP and kind == DATA then
    what = "symbol"
  end
  if trimmed then
    what = "trimmed " .. what
  end
  if shared:bitfield(1, 1) == 1 then
    what = "returned " .. what
  end
  local info = string.format("%s, session %d", what, buffer(7, 4):uint())
  pinfo.cols.info = told and (info .. ": " .. told) or info
  tree:append_text(", " .. info)
  return LENGTH
end

anabranch:register_heuristic("udp", function(buffer, pinfo, root)
  return is_ours(buffer) and anabranch.dissector(buffer, pinfo, root) > 0
end)
