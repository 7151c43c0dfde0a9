// Words that tests of campaigns and certificates are written in.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/testing/control_world.h"

namespace fabric::control {

using namespace std::chrono_literals;
using testing::Behaviour;
using ::testing::Contains;
using testing::ControlWorld;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

}  // namespace fabric::control
