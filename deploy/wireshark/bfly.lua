-- SPDX-License-Identifier: Apache-2.0
-- Shows bfly's own header (docs/wire_header.md) in Wireshark and tshark: testers' frames, trunk frames with the
-- host's frame inside, and messages of programs.
local bfly = Proto("bfly", "bfly")

local types = { [1] = "tester", [2] = "trunk", [3] = "program" }
local f = bfly.fields
f.version = ProtoField.uint8("bfly.version", "Version")
f.type = ProtoField.uint8("bfly.type", "Type", base.DEC, types)
f.header_bytes = ProtoField.uint8("bfly.header_bytes", "Header bytes")
f.flags = ProtoField.uint8("bfly.flags", "Flags", base.HEX)
f.names_input = ProtoField.bool("bfly.flags.names_input", "Row is the input", 8, nil, 0x01)
f.synthetic = ProtoField.bool("bfly.flags.synthetic", "No frame follows", 8, nil, 0x02)
f.fixed = ProtoField.bool("bfly.flags.fixed", "Tag says the ports", 8, nil, 0x08)
f.priority = ProtoField.uint8("bfly.flags.priority", "Priority", base.DEC, nil, 0x70)
f.back = ProtoField.bool("bfly.flags.back", "Back to the inputs", 8, nil, 0x01)
f.lost = ProtoField.bool("bfly.flags.lost", "The run has lost messages", 8, nil, 0x02)
f.row = ProtoField.uint32("bfly.row", "Row")
f.tag = ProtoField.uint64("bfly.tag", "Tag", base.HEX)
f.hops = ProtoField.uint8("bfly.tag.bits", "Bits to go")
f.bits = ProtoField.string("bfly.tag.text", "Routing bits")
f.sequence = ProtoField.uint32("bfly.sequence", "Sequence")
f.stage = ProtoField.uint8("bfly.stage", "Stage crossed last")
f.queue = ProtoField.uint8("bfly.queue", "Queue")
f.inner_bytes = ProtoField.uint16("bfly.inner_bytes", "Bytes that follow")
f.age = ProtoField.uint64("bfly.age", "Age in ns")
f.input = ProtoField.uint16("bfly.input", "Input row, low 16 bits")
f.session = ProtoField.uint32("bfly.session", "Session", base.HEX)
f.sequence_high = ProtoField.uint32("bfly.sequence_high", "Sequence, high half")
f.number = ProtoField.uint64("bfly.number", "Number in the queue")
f.messages = ProtoField.uint8("bfly.messages", "Messages")
f.lost_after = ProtoField.uint8("bfly.lost_after", "Lost after stage")
f.run = ProtoField.uint64("bfly.run", "Run", base.HEX)
f.frame_number = ProtoField.uint32("bfly.frame_number", "Number of the frame")
f.total = ProtoField.uint32("bfly.total", "Messages so far")
f.message = ProtoField.none("bfly.message", "Message")
f.message_tag = ProtoField.uint64("bfly.message.tag", "Tag", base.HEX)
f.message_row = ProtoField.uint32("bfly.message.row", "Row")
f.message_slot = ProtoField.uint32("bfly.message.slot", "Slot")
f.message_value = ProtoField.uint32("bfly.message.value", "Value")
f.message_notes = ProtoField.uint24("bfly.message.notes", "Notes", base.HEX)
f.message_marker = ProtoField.uint8("bfly.message.marker", "Marker", base.DEC,
  { [0] = "none", [1] = "a pass begins", [2] = "a pass ends" })

local malformed = ProtoExpert.new("bfly.malformed", "Not a header of bfly", expert.group.MALFORMED, expert.severity.ERROR)
local cut = ProtoExpert.new("bfly.cut", "The frame inside is cut or malformed", expert.group.UNDECODED, expert.severity.NOTE)
local deep = ProtoExpert.new("bfly.deep", "Trunk frames are shown four deep", expert.group.UNDECODED, expert.severity.NOTE)
bfly.experts = { malformed, cut, deep }

local HEADER, TRUNK, PROGRAM, MESSAGE = 32, 40, 24, 24
local ethernet = Dissector.get("eth_withoutfcs")

-- A frame of 9 kB has room for 160 trunk frames, one inside of the other. Lua has no stack for so many calls.
local MOST_DEEP = 4
local depth = 0 -- trunk frames around the one that is read

-- The bits of a tag up to the lowest one bit, which ends it; nil if there is no one bit.
local function bits_of(tag)
  local text, last = {}, nil
  for i = 0, 63 do
    local bit = tag:bitfield(i, 1)
    text[#text + 1] = bit
    if bit == 1 then last = i end
  end
  if last == nil then return nil end
  return table.concat(text, "", 1, last), last
end

local function add_tag(tree, tag)
  local item = tree:add(f.tag, tag)
  local text, count = bits_of(tag)
  if text == nil then
    item:add_proto_expert_info(malformed, "the tag has no one bit at its end")
    return
  end
  item:add(f.hops, tag, count):set_generated()
  item:add(f.bits, tag, text):set_generated()
end

local function add_messages(buffer, tree, count)
  for i = 0, count - 1 do
    local at = PROGRAM + i * MESSAGE
    if at + MESSAGE > buffer:len() then return end
    local item = tree:add(f.message, buffer(at, MESSAGE))
    item:append_text(" " .. i)
    item:add(f.message_tag, buffer(at, 8))
    item:add(f.message_row, buffer(at + 8, 4))
    item:add(f.message_slot, buffer(at + 12, 4))
    item:add(f.message_value, buffer(at + 16, 4))
    item:add(f.message_notes, buffer(at + 20, 3))
    item:add(f.message_marker, buffer(at + 23, 1))
  end
end

local function program(buffer, pinfo, tree)
  local flags = buffer(3, 1)
  local item = tree:add(f.flags, flags)
  item:add(f.back, flags)
  item:add(f.lost, flags)
  tree:add(f.stage, buffer(4, 1))
  tree:add(f.messages, buffer(5, 1))
  tree:add(f.lost_after, buffer(6, 1))
  tree:add(f.run, buffer(8, 8))
  tree:add(f.frame_number, buffer(16, 4))
  tree:add(f.total, buffer(20, 4))
  local count = buffer(5, 1):uint()
  add_messages(buffer, tree, count)
  pinfo.cols.info = string.format("program, %d messages after stage %d", count, buffer(4, 1):uint())
end

function bfly.dissector(buffer, pinfo, root)
  if buffer:len() < PROGRAM then return 0 end
  local kind, header = buffer(1, 1):uint(), buffer(2, 1):uint()
  local wanted = ({ [1] = HEADER, [2] = TRUNK, [3] = PROGRAM })[kind]
  pinfo.cols.protocol = "bfly"
  local tree = root:add(bfly, buffer(0, math.min(wanted or PROGRAM, buffer:len())))
  tree:add(f.version, buffer(0, 1))
  tree:add(f.type, buffer(1, 1))
  tree:add(f.header_bytes, buffer(2, 1))
  if buffer(0, 1):uint() ~= 1 or wanted == nil or header ~= wanted or buffer:len() < wanted then
    tree:add_proto_expert_info(malformed)
    pinfo.cols.info = "not a header of bfly"
    return PROGRAM
  end
  if kind == 3 then
    program(buffer, pinfo, tree)
    return buffer:len()
  end
  local flags = buffer(3, 1)
  local item = tree:add(f.flags, flags)
  if kind == 1 then item:add(f.names_input, flags) else item:add(f.synthetic, flags) end
  item:add(f.fixed, flags)
  if kind == 2 then item:add(f.priority, flags) end
  tree:add(f.row, buffer(4, 4))
  add_tag(tree, buffer(8, 8))
  tree:add(f.sequence, buffer(16, 4))
  tree:add(f.stage, buffer(20, 1))
  tree:add(f.queue, buffer(21, 1))
  tree:add(f.inner_bytes, buffer(22, 2))
  tree:add(f.age, buffer(24, 6), buffer(24, 6):uint64())
  tree:add(f.input, buffer(30, 2))
  if kind == 1 then
    pinfo.cols.info = string.format("tester, row %d, tag %s", buffer(4, 4):uint(), bits_of(buffer(8, 8)) or "?")
    return HEADER
  end
  tree:add(f.session, buffer(32, 4))
  tree:add(f.sequence_high, buffer(36, 4))
  local number = UInt64.new(buffer(16, 4):uint(), buffer(36, 4):uint())
  tree:add(f.number, buffer(16, 4), number):set_generated()
  pinfo.cols.info = string.format("trunk, at row %d after stage %d, number %s", buffer(4, 4):uint(),
    buffer(20, 1):uint(), tostring(number))
  local inner = math.min(buffer(22, 2):uint(), buffer:len() - TRUNK)
  if bit.band(flags:uint(), 2) == 0 and inner > 0 then
    local line = tostring(pinfo.cols.info)
    if depth + 1 == MOST_DEEP then
      tree:add_proto_expert_info(deep)
      return buffer:len()
    end
    depth = depth + 1
    -- A frame that is cut makes the dissectors of its contents give up.
    local whole = pcall(function() ethernet:call(buffer(TRUNK, inner):tvb(), pinfo, root) end)
    depth = depth - 1
    if not whole then tree:add_proto_expert_info(cut) end
    pinfo.cols.protocol = "bfly"
    pinfo.cols.info = line
  end
  return buffer:len()
end

DissectorTable.get("ethertype"):add(0x88b5, bfly)
